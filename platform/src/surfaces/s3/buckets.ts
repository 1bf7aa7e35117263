/** Buckets: whatever has files of an account, found by one of those who know such things. */
import type { Files } from "../../ports/files/files.ts";

/** Its files are here, or it is said where they are and why nobody reaches them from here. */
export interface Bucket {
  id: string;
  /** Its data center. */
  region: string;
  createdAt: number;
  files: Files | { away: string };
}

/** One sort of them, such as network volumes. */
export interface BucketFinder {
  /** Undefined when the account has none with this id. */
  find(account: string, id: string): Promise<Bucket | undefined>;
  list(account: string): Promise<Bucket[]>;
}

export class Buckets {
  readonly #finders: readonly BucketFinder[];

  constructor(finders: readonly BucketFinder[]) {
    this.#finders = finders;
  }

  async find(account: string, id: string): Promise<Bucket | undefined> {
    for (const finder of this.#finders) {
      const found = await finder.find(account, id);
      if (found) return found;
    }
    return undefined;
  }

  async list(account: string): Promise<Bucket[]> {
    const lists = await Promise.all(this.#finders.map((finder) => finder.list(account)));
    return lists.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }
}
