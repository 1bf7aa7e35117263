/** Pod keys. With its key a Pod can read, stop and terminate itself, and do nothing else. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { apiKeyText, keyDigest, resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import { type Account, accounts } from "../account/model.ts";

export type PodKey = { pod: string; digest: string };

const podKeys: Kept<PodKey> = {
  kind: "pod-key",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
  listed: ({ pod }) => ({ pod }),
};

/** A key that another process or node revoked stops working within this time. */
const REMEMBERED_MS = 1000;
const MAY: Caller["grants"] = ["pods:write"];

export class PodKeys {
  readonly #keys: Collection<PodKey>;
  readonly #accounts: Collection<Account>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #callers: Remembered<Caller>;
  /** Counts removals. A result that was read before a removal may be out of date, so it is not remembered. */
  #removals = 0;

  constructor(parts: { store: Store; clock: Clock; random: Random }) {
    this.#keys = new Collection(parts.store, podKeys);
    this.#accounts = new Collection(parts.store, accounts);
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#callers = new Remembered(parts.clock, REMEMBERED_MS);
  }

  prepare(): Promise<void> {
    return this.#keys.prepare();
  }

  async issue(account: string, pod: string): Promise<{ id: string; key: string }> {
    const { id, key, record } = this.#fresh(account, pod);
    await this.#keys.insert(record);
    return { id, key };
  }

  /** A key that works once the caller has committed this write. */
  issuing(account: string, pod: string): { id: string; key: string; write: Write } {
    const { id, key, record } = this.#fresh(account, pod);
    return { id, key, write: this.#keys.inserting(record) };
  }

  #fresh(account: string, pod: string) {
    const key = apiKeyText(this.#random);
    const id = resourceId(this.#random);
    return { id, key, record: { id, account, createdAt: this.#clock.now(), doc: { pod, digest: keyDigest(key) } } };
  }

  /** The caller with this key, if it was looked up a moment ago. */
  knownCaller(key: string): Caller | undefined {
    return this.#callers.get(key);
  }

  async findCaller(key: string): Promise<Caller | undefined> {
    const removals = this.#removals;
    const found = await this.#keys.findEverywhere("digest", keyDigest(key));
    const owner = found && (await this.#accounts.get(found.account))?.doc.ownerId;
    if (!found || owner === undefined) return undefined;
    const { id, account, doc } = found;
    const caller: Caller = { account, user: owner, key: id, pod: doc.pod, grants: MAY, exempt: false };
    if (removals === this.#removals) this.#callers.set(key, caller);
    return caller;
  }

  /** Removes all keys of a Pod except these, since each boot has its own. */
  async removeOf(pod: string, except: readonly (string | null)[] = []): Promise<void> {
    for await (const { id } of this.#keys.all({ key: { name: "pod", value: pod } }))
      if (!except.includes(id)) await this.#keys.removeIfThere(id);
    this.#removals++;
    this.#callers.clear();
  }
}
