/** Worker keys, two for each worker: one opens the worker routes of its endpoint, the other calls endpoints of its account. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { apiKeyText, keyDigest, resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import { type Account, accounts } from "../account/model.ts";

export type WorkerKey = {
  endpoint: string;
  digest: string;
  /** The digest of the key that calls endpoints. Records of earlier releases have none. */
  callDigest?: string;
  /** The only worker whose routes the key opens. A key made by hand has none, and works for any name. */
  worker?: string;
};

const workerKeys: Kept<WorkerKey> = {
  kind: "worker-key",
  v: 1,
  uniqueEverywhere: ({ digest, callDigest }) => ({ digest, callDigest }),
  listed: ({ endpoint }) => ({ endpoint }),
  keysVersion: 2,
};

/** Both keys are invalid from the moment their record is removed. */
export interface IssuedKeys {
  id: string;
  /** The key that opens the worker's routes. */
  key: string;
  /** The key that calls endpoints of the account. */
  callKey: string;
}

/** A key that another process or node revoked stops working within this time. */
const REMEMBERED_MS = 1000;

const CALLS: Caller["grants"] = ["serverless:invoke"];
const DIGESTS = ["digest", "callDigest"] as const;

/** The routes that a key opens. */
type Opening = Pick<WorkerKey, "endpoint" | "worker"> & { account: string };

function accountOf(opening: Opening, endpoint: string, worker: string): string | undefined {
  const isRight = opening.endpoint === endpoint && (opening.worker === undefined || opening.worker === worker);
  return isRight ? opening.account : undefined;
}

export class WorkerKeys {
  readonly #keys: Collection<WorkerKey>;
  readonly #clock: Clock;
  readonly #random: Random;
  /** Remembers by the key itself, so that a worker's request does not need a hash. */
  readonly #remembered: Remembered<Opening>;
  readonly #accounts: Collection<Account>;
  readonly #callers: Remembered<Caller>;
  /** Counts removals. A result that was read before a removal may be out of date, so it is not remembered. */
  #removals = 0;

  constructor(parts: { store: Store; clock: Clock; random: Random }) {
    this.#keys = new Collection(parts.store, workerKeys);
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
    this.#accounts = new Collection(parts.store, accounts);
    this.#callers = new Remembered(parts.clock, REMEMBERED_MS);
  }

  prepare(): Promise<void> {
    return this.#keys.prepare();
  }

  /** With `worker`, the keys only work for that worker. */
  async issue(account: string, endpoint: string, worker?: string): Promise<IssuedKeys> {
    const { keys, record } = this.#fresh(account, endpoint, worker);
    await this.#keys.insert(record);
    return keys;
  }

  /** Keys that work once the caller has committed this write. */
  issuing(account: string, endpoint: string, worker: string): { keys: IssuedKeys; write: Write } {
    const { keys, record } = this.#fresh(account, endpoint, worker);
    return { keys, write: this.#keys.inserting(record) };
  }

  #fresh(account: string, endpoint: string, worker: string | undefined) {
    const [key, callKey] = [apiKeyText(this.#random), apiKeyText(this.#random)];
    const id = resourceId(this.#random);
    const digests = { digest: keyDigest(key), callDigest: keyDigest(callKey) };
    const doc = { endpoint, ...digests, ...(worker === undefined ? {} : { worker }) };
    return { keys: { id, key, callKey }, record: { id, account, createdAt: this.#clock.now(), doc } };
  }

  /** The account of the worker if the key opens its routes, otherwise undefined. Answers at once for a key that was used a moment ago. */
  opens(key: string, endpoint: string, worker: string): string | undefined | Promise<string | undefined> {
    const remembered = this.#remembered.get(key);
    if (remembered) return accountOf(remembered, endpoint, worker);
    return this.#find(key).then((found) => found && accountOf(found, endpoint, worker));
  }

  /** The caller with this call key, if it was looked up a moment ago. */
  knownCaller(callKey: string): Caller | undefined {
    return this.#callers.get(callKey);
  }

  /**
   * A worker calls as its account, and may only invoke endpoints of it. Its REST requests count against the rate limits of the account's
   * owner.
   */
  async findCaller(callKey: string): Promise<Caller | undefined> {
    const removals = this.#removals;
    const found = await this.#keys.findEverywhere("callDigest", keyDigest(callKey));
    const owner = found && (await this.#accounts.get(found.account))?.doc.ownerId;
    if (!found || owner === undefined) return undefined;
    const { id, account, doc } = found;
    const caller: Caller = { account, user: owner, key: id, workerOf: doc.endpoint, grants: CALLS, exempt: false };
    if (removals === this.#removals) this.#callers.set(callKey, caller);
    return caller;
  }

  /** Whether this text is a key of either kind. */
  async isIssued(key: string): Promise<boolean> {
    const digest = keyDigest(key);
    const found = await Promise.all(DIGESTS.map((name) => this.#keys.findEverywhere(name, digest)));
    return found.some((item) => item !== undefined);
  }

  /** Takes effect on this node at once. Revoking a key that is already gone is not an error. */
  async revoke(id: string): Promise<void> {
    await this.#remove(id);
  }

  /** Revokes a key that was made by hand. Returns false if the endpoint has none with this id. */
  async revokeByHand(endpoint: string, id: string): Promise<boolean> {
    const found = await this.#keys.get(id);
    if (found?.doc.endpoint !== endpoint || found.doc.worker !== undefined) return false;
    await this.#remove(id);
    return true;
  }

  async removeEndpoint(endpoint: string): Promise<void> {
    for await (const { id } of this.#keys.all({ key: { name: "endpoint", value: endpoint } })) await this.#remove(id);
  }

  /**
   * Removes keys of workers that do not exist, for example after a crash during a boot. Younger keys may still get their worker. The workers
   * are read after the keys, so that the key of a worker that another node has just begun stays, whatever that node's clock says.
   */
  async removeOrphans(issuedBefore: number, readWorkers: () => Promise<ReadonlySet<string>>): Promise<void> {
    const old: { id: string; worker: string }[] = [];
    for await (const { id, createdAt, doc } of this.#keys.all())
      if (doc.worker !== undefined && createdAt < issuedBefore) old.push({ id, worker: doc.worker });
    if (old.length === 0) return;
    const known = await readWorkers();
    for (const { id, worker } of old) if (!known.has(worker)) await this.#remove(id);
  }

  async #remove(id: string): Promise<void> {
    await this.#keys.removeIfThere(id);
    this.#removals++;
    this.#remembered.clear();
    this.#callers.clear();
  }

  async #find(key: string): Promise<Opening | undefined> {
    const removals = this.#removals;
    const found = await this.#keys.findEverywhere("digest", keyDigest(key));
    if (!found) return undefined;
    const { endpoint, worker } = found.doc;
    const opening = { account: found.account, endpoint, ...(worker === undefined ? {} : { worker }) };
    if (removals === this.#removals) this.#remembered.set(key, opening);
    return opening;
  }
}
