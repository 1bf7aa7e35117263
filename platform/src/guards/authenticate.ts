/** Authentication: finds the caller that an Authorization header or a browser's session stands for. */

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
import type { AccountRules } from "../resources/account/rules.ts";
import type { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import { callerOf, type Sessions } from "../resources/people/sessions.ts";
import { isBearer } from "../resources/people/tokens.ts";
import type { PodKeys } from "../resources/pods/keys.ts";
import { type Asking, requireOwnPage, sessionIn } from "./own-page.ts";

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
  /** Keyed by the key itself, because hashing it for every request would cost more than the rest of authentication. */
  readonly #known: Remembered<Caller>;
  readonly #used = new Map<string, Use>();
  readonly #noting: AsyncDisposable;
  /** Keys of programs: workers and Pods. */
  readonly #programKeys: readonly Pick<WorkerKeys | PodKeys, "knownCaller" | "findCaller">[];
  readonly #accounts: Accounts;
  readonly #rules: AccountRules;
  readonly #failed: Failed;
  readonly #sessions: Sessions;
  readonly #publicUrl: string | undefined;
  /** When each session was last used, by its id. */
  readonly #sessionsUsed = new Map<string, number>();

  constructor(parts: {
    store: Store;
    clock: Clock;
    failed: Failed;
    workerKeys: WorkerKeys;
    podKeys: PodKeys;
    accounts: Accounts;
    accountRules: AccountRules;
    sessions: Sessions;
    /** The address that browsers use, if a proxy changes the Host header. */
    publicUrl?: string | undefined;
  }) {
    const { store, clock, failed } = parts;
    this.#accounts = parts.accounts;
    this.#rules = parts.accountRules;
    this.#sessions = parts.sessions;
    this.#publicUrl = parts.publicUrl;
    this.#programKeys = [parts.workerKeys, parts.podKeys];
    this.#failed = failed;
    this.#keys = new Collection(store, apiKeys);
    this.#uses = new Collection(store, keyUses);
    this.#clock = clock;
    this.#known = new Remembered(clock, REMEMBERED_MS);
    this.#noting = every(clock, { name: NOTE_USES, everyMs: NOTE_USES_EVERY_MS }, () => this.noteUses(), failed);
  }

  /** Finds the caller by the Authorization header, or without one by the session of a browser. */
  caller(request: Asking): Caller | Promise<Caller> {
    const { authorization } = request.headers;
    const session = authorization === undefined ? this.session(request) : undefined;
    return session ?? this.bearer(authorization);
  }

  /** Finds the person who is signed in; undefined if the request has no session cookie. */
  session(request: Asking): Promise<Caller> | undefined {
    const sent = sessionIn(request.headers);
    return sent && this.#bySession(sent, request);
  }

  async #bySession({ secret, page }: { secret: string; page: string | undefined }, request: Asking): Promise<Caller> {
    requireOwnPage(request, this.#publicUrl);
    const standing = await this.#sessions.bySecret(secret);
    if (!standing) throw sessionEnded();
    if (page === undefined || keyDigest(page) !== standing.session.doc.pageDigest)
      throw problem("unauthenticated", "A session needs its page token beside the cookie, as 'X-Millrace-Page'.", {
        reason: "page-token-missing",
      });
    const caller = callerOf(standing);
    const person = await this.#withRules(caller);
    this.#sessionsUsed.set(caller.key, this.#clock.now());
    return person;
  }

  /** Reads `Authorization: Bearer <key>`, the only form of a key that the REST surfaces accept. */
  bearer(header: string | undefined): Caller | Promise<Caller> {
    if (header === undefined) throw problem("unauthenticated", "missing bearer token", { reason: "key-missing" });
    const key = /^Bearer +(\S+) *$/i.exec(header)?.[1];
    if (key === undefined)
      throw problem("unauthenticated", "malformed bearer token: expected 'Authorization: Bearer <API_KEY>'", {
        reason: "key-malformed",
      });
    return this.key(key);
  }

  /** Returns at once for a key that was used a moment ago. A promise per request would cost more than the lookup. */
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
    if (caller.person) this.#sessionsUsed.set(caller.key, now);
    else if (caller.workerOf === undefined && caller.pod === undefined) this.#noteUsed(caller, now);
    return caller;
  }

  /** Forgets all remembered keys, so that a key revoked here stops working at once. */
  forget(): void {
    this.#known.clear();
  }

  /** Stores when keys were last used, once a minute and never while a request waits. */
  async noteUses(): Promise<void> {
    const used = [...this.#used];
    this.#used.clear();
    for (const [id, { account, at }] of used) await this.#noteUse(id, account, at);
    const sessions = [...this.#sessionsUsed];
    this.#sessionsUsed.clear();
    for (const [id, at] of sessions) await this.#sessions.noteUse(id, at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#noting[Symbol.asyncDispose]();
    await this.noteUses().catch(named(this.#failed, NOTE_USES));
  }

  async #noteUse(id: string, account: string, at: number): Promise<void> {
    if (!(await this.#keys.get(id))) return;
    const noted = await this.#uses.get(id);
    // Another node may store the same key's use at this moment. Its time is as good as ours.
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
    if (isBearer(key)) return this.#known.reading(key, () => this.#byBearer(key));
    if (!KEY_SHAPE.test(key)) return undefined;
    return (await this.#known.reading(key, () => this.#byKey(key))) ?? this.#findProgram(key);
  }

  async #byKey(key: string): Promise<Caller | undefined> {
    const item = await this.#keys.findEverywhere("digest", keyDigest(key));
    if (!item) return undefined;
    const { userId: user, name: keyName, scopes: grants, endpoints, exempt = false, expiresAt } = item.doc;
    const { account } = item;
    // Programs of a suspended account finish what they have begun. Only its people and their keys are kept out.
    const { requestLimits } = await this.#rules.assertOpen(account);
    const ownsInstallation = grants.includes("all") && !endpoints && (await this.#accounts.isFirst(account));
    const whose = { account, user, key: item.id, keyName };
    return { ...whose, grants, endpoints, exempt, expiresAt, ownsInstallation, requestLimits };
  }

  /** A person on the command line, who signed in by a code. */
  async #byBearer(secret: string): Promise<Caller> {
    const standing = await this.#sessions.byBearer(secret);
    const caller = standing && (await this.#withRules(callerOf(standing)));
    if (!caller) throw sessionEnded();
    return caller;
  }

  /** Adds what the account's own rules and the installation say about a person. */
  async #withRules(caller: Caller): Promise<Caller> {
    const { requestLimits } = await this.#rules.assertOpen(caller.account);
    const ownsInstallation = caller.grants.includes("all") && (await this.#accounts.isFirst(caller.account));
    return { ...caller, ownsInstallation, ...(requestLimits && { requestLimits }) };
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

const sessionEnded = () =>
  problem("unauthenticated", "This session has ended: sign in again.", { reason: "session-ended" });
