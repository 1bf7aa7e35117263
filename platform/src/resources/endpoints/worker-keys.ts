/** Worker keys: each opens the worker routes of one endpoint and nothing else. */
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { apiKeyText, keyDigest, resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";

export type WorkerKey = { endpoint: string; digest: string };

export const workerKeys: Kept<WorkerKey> = { kind: "worker-key", v: 1, uniqueEverywhere: ({ digest }) => ({ digest }) };

/** A key revoked by another process or node stops working within this time. */
const REMEMBERED_MS = 1000;

export class WorkerKeys {
  readonly #keys: Collection<WorkerKey>;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The endpoint that a key opens, by the key itself: no worker's request should cost a hash. */
  readonly #remembered: Remembered<string>;

  constructor(parts: { store: Store; clock: Clock; random: Random }) {
    this.#keys = new Collection(parts.store, workerKeys);
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
  }

  prepare(): Promise<void> {
    return this.#keys.prepare();
  }

  async issue(account: string, endpoint: string): Promise<{ id: string; key: string }> {
    const key = apiKeyText(this.#random);
    const id = resourceId(this.#random);
    const doc = { endpoint, digest: keyDigest(key) };
    await this.#keys.insert({ id, account, createdAt: this.#clock.now(), doc });
    return { id, key };
  }

  async opens(key: string, endpoint: string): Promise<boolean> {
    return (this.#remembered.get(key) ?? (await this.#endpointOf(key))) === endpoint;
  }

  async removeEndpoint(endpoint: string): Promise<void> {
    for await (const { id, doc } of this.#keys.all()) if (doc.endpoint === endpoint) await this.#keys.remove(id);
    this.#remembered.clear();
  }

  async #endpointOf(key: string): Promise<string | undefined> {
    const found = await this.#keys.findEverywhere("digest", keyDigest(key));
    if (found) this.#remembered.set(key, found.doc.endpoint);
    return found?.doc.endpoint;
  }
}
