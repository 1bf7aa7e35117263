/** The records of releases. Each is written in the same commit as the endpoint's change, and is found by its number. */
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { KeptEndpoint } from "../endpoints/model.ts";
import { releaseDiff } from "./diff.ts";
import { type KeptRelease, type ReleaseChange, releases } from "./model.ts";

/** How many releases one commit removes. */
const REMOVED_AT_ONCE = 100;

/** The fields of an endpoint that its releases need. */
export interface Released {
  id: string;
  account: string;
  release: number;
}

export class ReleaseRecords {
  readonly #store: Store;
  readonly #releases: Collection<KeptRelease>;

  constructor(parts: { store: Store }) {
    this.#store = parts.store;
    this.#releases = new Collection(parts.store, releases);
  }

  prepare(): Promise<void> {
    return this.#releases.prepare();
  }

  /** Commit this write together with the change that makes the release. */
  inserting({ id, account, release }: Released, made: { at: number; user: string; diff: ReleaseChange[] }): Write {
    const doc = { endpoint: id, version: release, user: made.user, diff: made.diff };
    return this.#releases.inserting({ id: releaseId(id, release), account, createdAt: made.at, doc });
  }

  /** The write of a release, for the commit of an endpoint's change. It is empty if the change makes no release. */
  ofChange(
    { id, account, doc }: Pick<Item<KeptEndpoint>, "id" | "account" | "doc">,
    set: Partial<KeptEndpoint>,
    made: { at: number; user: string },
  ): Write[] {
    if (set.release === undefined) return [];
    const diff = releaseDiff(doc, { ...doc, ...set });
    return [this.inserting({ id, account, release: set.release }, { ...made, diff })];
  }

  /** Removes all releases in one commit. `#numbers` counts up, so it would never find releases behind a gap. */
  async removeEndpoint(endpoint: string): Promise<void> {
    for (let left = await this.#numbers(endpoint); left.length > 0; left = await this.#numbers(endpoint))
      // If another node removed some of them first, the loop looks again.
      await this.#commit(left.map((number) => this.#releases.removing(releaseId(endpoint, number))));
  }

  /** Removes all but the newest releases of an endpoint and its first, which says where they begin. */
  async removeOld({ id, release }: Pick<Released, "id" | "release">, most: number): Promise<void> {
    const oldest = release - most + 1;
    for (;;) {
      const first = await this.#releases.get(releaseId(id, 1));
      const from = first?.doc.next ?? 2;
      if (!first || from >= oldest) return;
      const next = Math.min(from + REMOVED_AT_ONCE, oldest);
      const removed = Array.from({ length: next - from }, (_, i) => this.#releases.removing(releaseId(id, from + i)));
      // If another node or a change was first, the next run of the duty looks again.
      if (!(await this.#commit([this.#releases.patching(first, { next }), ...removed]))) return;
    }
  }

  async #commit(writes: Write[]): Promise<boolean> {
    try {
      await this.#store.commit(writes);
      return true;
    } catch (error) {
      if (error instanceof WriteRefused) return false;
      throw error;
    }
  }

  /** The numbers of all releases of an endpoint that are kept. */
  async #numbers(endpoint: string): Promise<number[]> {
    const first = await this.#releases.get(releaseId(endpoint, 1));
    if (!first) return [];
    const numbers = [1];
    for (let next = first.doc.next ?? 2; await this.#releases.get(releaseId(endpoint, next)); next++)
      numbers.push(next);
    return numbers;
  }

  /** Up to `limit` releases with numbers smaller than `version`, the newest first. It ends where older ones were removed. */
  async before({ id }: Released, version: number, limit: number): Promise<Item<KeptRelease>[]> {
    const first = Math.max(1, version - limit);
    const numbers = Array.from({ length: version - first }, (_, i) => version - 1 - i);
    const found = await Promise.all(numbers.map((number) => this.#releases.get(releaseId(id, number))));
    const gap = found.indexOf(undefined);
    return found.slice(0, gap < 0 ? undefined : gap).filter((release) => release !== undefined);
  }
}

/** The id holds the number, so a release is found without a search. */
const releaseId = (endpoint: string, version: number) => `${endpoint}-${version}`;
