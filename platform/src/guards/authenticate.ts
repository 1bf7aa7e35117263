/** Authentication: from the text of an Authorization header to the caller it stands for. */

import { every } from "../kernel/background.ts";
import type { Caller } from "../kernel/caller.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { KEY_SHAPE, keyDigest } from "../kernel/ids.ts";
import { problem } from "../kernel/problem.ts";
import { Remembered } from "../kernel/remembered.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Accounts } from "../resources/account/accounts.ts";
import { apiKeys, type KeptApiKey, type KeyUse, keyUses } from "../resources/account/model.ts";
import type { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import type { PodKeys } from "../resources/pods/keys.ts";

/** A key revoked by another process or node stops working within this time. */
const REMEMBERED_MS = 1000;
const NOTE_USES_EVERY_MS = 60_000;
const NOTE_USES = "note when keys were used";

interface Use {
  account: string;
  at: number;
}

export class Authenticator implements AsyncDisposable {
  readonly #keys: Collection<KeptApiKey>;
  readonly #uses: Collection<KeyUse>;
  readonly #clock: Clock;
  /** By the key itself: hashing it for every request would cost more than all else that is done to authenticate it. */
  readonly #known: Remembered<Caller>;
  readonly #used = new Map<string, Use>();
  readonly #noting: AsyncDisposable;
  /** Of programs: those of workers and of Pods. */
  readonly #programKeys: readonly Pick<WorkerKeys | PodKeys, "knownCaller" | "findCaller">[];
  readonly #accounts: Accounts;
  readonly #failed: Failed;

  constructor(parts: {
    store: Store;
    clock: Clock;
    failed: Failed;
    workerKeys: WorkerKeys;
    podKeys: PodKeys;
    accounts: Accounts;
  }) {
    const { store, clock, failed } = parts;
    this.#accounts = parts.accounts;
    this.#programKeys = [parts.workerKeys, parts.podKeys];
    this.#failed = failed;
    this.#keys = new Collection(store, apiKeys);
    this.#uses = new Collection(store, keyUses);
    this.#clock = clock;
    this.#known = new Remembered(clock, REMEMBERED_MS);
    this.#noting = every(clock, { name: NOTE_USES, everyMs: NOTE_USES_EVERY_MS }, () => this.noteUses(), failed);
  }

  /** `Authorization: Bearer <key>`, the only form that the REST surfaces take. */
  bearer(header: string | undefined): Caller | Promise<Caller> {
    if (header === undefined) throw problem("unauthenticated", "missing bearer token", { reason: "key-missing" });
    const key = /^Bearer +(\S+) *$/i.exec(header)?.[1];
    if (key === undefined)
      throw problem("unauthenticated", "malformed bearer token: expected 'Authorization: Bearer <API_KEY>'", {
        reason: "key-malformed",
      });
    return this.key(key);
  }

  /** At once for a key that was used a moment ago: a promise for each request would cost more than the look. */
  key(key: string): Caller | Promise<Caller> {
    const known = this.#known.get(key) ?? this.#knownProgram(key);
    return known ? this.#admitted(known) : this.#lookUp(key).then((found) => this.#admitted(found));
  }

  #admitted(caller: Caller | undefined): Caller {
    if (!caller) throw problem("unauthenticated", "invalid API key", { reason: "key-unknown" });
    const now = this.#clock.now();
    const { expiresAt } = caller;
    if (expiresAt !== undefined && expiresAt <= now)
      throw problem("unauthenticated", "expired API key", { reason: "key-expired" });
    if (caller.workerOf === undefined && caller.pod === undefined) this.#noteUsed(caller, now);
    return caller;
  }

  /** Forgets what is remembered, so that a key revoked here stops working at once. */
  forget(): void {
    this.#known.clear();
  }

  /** Writes down when keys were last used: once a minute, never on the way of a request. */
  async noteUses(): Promise<void> {
    const used = [...this.#used];
    this.#used.clear();
    for (const [id, { account, at }] of used) await this.#noteUse(id, account, at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#noting[Symbol.asyncDispose]();
    await this.noteUses().catch(named(this.#failed, NOTE_USES));
  }

  async #noteUse(id: string, account: string, at: number): Promise<void> {
    if (!(await this.#keys.get(id))) return;
    const noted = await this.#uses.get(id);
    // Another node may note the same key in this moment: its time is as good as ours.
    const lost = () => undefined;
    if (!noted) await this.#uses.insert({ id, account, createdAt: at, doc: { at } }).catch(lost);
    else if (noted.doc.at < at) await this.#uses.patch(noted, { at }).catch(lost);
  }

  #noteUsed({ key, account }: Caller, at: number): void {
    const noted = this.#used.get(key);
    if (noted) noted.at = at;
    else this.#used.set(key, { account, at });
  }

  async #lookUp(key: string): Promise<Caller | undefined> {
    if (!KEY_SHAPE.test(key)) return undefined;
    const item = await this.#keys.findEverywhere("digest", keyDigest(key));
    if (!item) return this.#findProgram(key);
    const { userId: user, name: keyName, scopes: grants, endpoints, exempt = false, expiresAt } = item.doc;
    const { account } = item;
    const ownsInstallation = grants.includes("all") && !endpoints && (await this.#accounts.isFirst(account));
    const whose = { account, user, key: item.id, keyName };
    const caller: Caller = { ...whose, grants, endpoints, exempt, expiresAt, ownsInstallation };
    this.#known.set(key, caller);
    return caller;
  }

  #knownProgram(key: string): Caller | undefined {
    for (const keys of this.#programKeys) {
      const caller = keys.knownCaller(key);
      if (caller) return caller;
    }
    return undefined;
  }

  async #findProgram(key: string): Promise<Caller | undefined> {
    for (const keys of this.#programKeys) {
      const caller = await keys.findCaller(key);
      if (caller) return caller;
    }
    return undefined;
  }
}
