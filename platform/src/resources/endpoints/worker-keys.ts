/** Worker keys: each opens the worker routes of one endpoint, or of one worker of it, and nothing else. */
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { apiKeyText, keyDigest, resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import { type Store, WriteRefused } from "../../ports/store/store.ts";

export type WorkerKey = {
  endpoint: string;
  digest: string;
  /** The only worker that it opens routes of; a key made by hand has none and is good for any name. */
  worker?: string;
};

export const workerKeys: Kept<WorkerKey> = { kind: "worker-key", v: 1, uniqueEverywhere: ({ digest }) => ({ digest }) };

/** A key revoked by another process or node stops working within this time. */
const REMEMBERED_MS = 1000;

export class WorkerKeys {
  readonly #keys: Collection<WorkerKey>;
  readonly #clock: Clock;
  readonly #random: Random;
  /** What a key opens, by the key itself: no worker's request should cost a hash. */
  readonly #remembered: Remembered<WorkerKey>;
  /** Grows with every removal: what was read before one may be out of date, and is not remembered. */
  #removals = 0;

  constructor(parts: { store: Store; clock: Clock; random: Random }) {
    this.#keys = new Collection(parts.store, workerKeys);
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
  }

  prepare(): Promise<void> {
    return this.#keys.prepare();
  }

  /** With `worker`, the key is that worker's own. */
  async issue(account: string, endpoint: string, worker?: string): Promise<{ id: string; key: string }> {
    const key = apiKeyText(this.#random);
    const id = resourceId(this.#random);
    const doc = { endpoint, digest: keyDigest(key), ...(worker === undefined ? {} : { worker }) };
    await this.#keys.insert({ id, account, createdAt: this.#clock.now(), doc });
    return { id, key };
  }

  async opens(key: string, endpoint: string, worker: string): Promise<boolean> {
    const found = this.#remembered.get(key) ?? (await this.#find(key));
    return found?.endpoint === endpoint && (found.worker === undefined || found.worker === worker);
  }

  /** Takes effect at once on this node. A key that is gone already is no error. */
  async revoke(id: string): Promise<void> {
    await this.#remove(id);
  }

  async removeEndpoint(endpoint: string): Promise<void> {
    for await (const { id, doc } of this.#keys.all()) if (doc.endpoint === endpoint) await this.#remove(id);
  }

  /** Removes keys of workers that are no more, such as those whose boot a crash cut short. Younger ones may yet get their worker. */
  async removeOrphans(issuedBefore: number, isKnown: (worker: string) => boolean): Promise<void> {
    for await (const { id, createdAt, doc } of this.#keys.all()) {
      const isOrphan = doc.worker !== undefined && createdAt < issuedBefore && !isKnown(doc.worker);
      if (isOrphan) await this.#remove(id);
    }
  }

  async #remove(id: string): Promise<void> {
    try {
      await this.#keys.remove(id);
    } catch (error) {
      // Another node was faster.
      if (!(error instanceof WriteRefused)) throw error;
    }
    this.#removals++;
    this.#remembered.clear();
  }

  async #find(key: string): Promise<WorkerKey | undefined> {
    const removals = this.#removals;
    const found = await this.#keys.findEverywhere("digest", keyDigest(key));
    if (found && removals === this.#removals) this.#remembered.set(key, found.doc);
    return found?.doc;
  }
}
