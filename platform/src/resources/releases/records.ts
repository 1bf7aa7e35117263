/** The records of releases: written together with the endpoint, and found by their numbers. */
import { Collection, type Item } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import { type Change, type KeptRelease, releases } from "./model.ts";

/** An endpoint as far as its releases concern it. */
export interface Released {
  id: string;
  account: string;
  release: number;
}

export class ReleaseRecords {
  readonly #releases: Collection<KeptRelease>;

  constructor(parts: { store: Store }) {
    this.#releases = new Collection(parts.store, releases);
  }

  prepare(): Promise<void> {
    return this.#releases.prepare();
  }

  /** To be committed with the change that makes the release. */
  inserting({ id, account, release }: Released, made: { at: number; user: string; diff: Change[] }): Write {
    const doc = { endpoint: id, version: release, user: made.user, diff: made.diff };
    return this.#releases.inserting({ id: releaseId(id, release), account, createdAt: made.at, doc });
  }

  /** To be committed with the endpoint's removal. */
  async removing(endpoint: Released): Promise<Write[]> {
    return (await this.before(endpoint, endpoint.release + 1, endpoint.release)).map(({ id }) =>
      this.#releases.removing(id),
    );
  }

  /** Up to `limit` releases with smaller numbers than this, the newest first. */
  async before({ id }: Released, version: number, limit: number): Promise<Item<KeptRelease>[]> {
    const first = Math.max(1, version - limit);
    const numbers = Array.from({ length: version - first }, (_, i) => version - 1 - i);
    const found = await Promise.all(numbers.map((number) => this.#releases.get(releaseId(id, number))));
    return found.filter((release) => release !== undefined);
  }
}

/** By its number: releases of an endpoint are found without looking at those of others. */
const releaseId = (endpoint: string, version: number) => `${endpoint}-${version}`;
