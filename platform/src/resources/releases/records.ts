/** The records of releases. Each is written in the same commit as the endpoint's change, and is found by its number. */
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { KeptEndpoint } from "../endpoints/model.ts";
import { releaseDiff } from "./diff.ts";
import { type KeptRelease, type ReleaseChange, releases } from "./model.ts";

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

  /** Removes all releases in one commit. `#newest` counts up from 1, so it would never find releases behind a gap. */
  async removeEndpoint(endpoint: string): Promise<void> {
    for (let newest = await this.#newest(endpoint); newest > 0; newest = await this.#newest(endpoint)) {
      const ids = Array.from({ length: newest }, (_, i) => releaseId(endpoint, i + 1));
      try {
        await this.#store.commit(ids.map((id) => this.#releases.removing(id)));
      } catch (error) {
        // Another node removed some of them first; the loop looks again.
        if (!(error instanceof WriteRefused)) throw error;
      }
    }
  }

  async #newest(endpoint: string): Promise<number> {
    let newest = 0;
    while (await this.#releases.get(releaseId(endpoint, newest + 1))) newest++;
    return newest;
  }

  /** Up to `limit` releases with numbers smaller than `version`, the newest first. */
  async before({ id }: Released, version: number, limit: number): Promise<Item<KeptRelease>[]> {
    const first = Math.max(1, version - limit);
    const numbers = Array.from({ length: version - first }, (_, i) => version - 1 - i);
    const found = await Promise.all(numbers.map((number) => this.#releases.get(releaseId(id, number))));
    return found.filter((release) => release !== undefined);
  }
}

/** The id holds the number, so a release is found without a search. */
const releaseId = (endpoint: string, version: number) => `${endpoint}-${version}`;
