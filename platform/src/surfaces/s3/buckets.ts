/** Buckets: everything of an account that has files, found by one finder for each kind. */
import type { Files } from "../../ports/files/files.ts";
import type { FilesNode } from "./elsewhere.ts";

/** A bucket. Its files are here, or `away` says where they are and why this server cannot reach them. */
export interface Bucket {
  id: string;
  /** The data center. */
  region: string;
  createdAt: number;
  files: Files | { away: string; node?: FilesNode };
}

/** Finds one kind of bucket, such as network volumes. */
export interface BucketFinder {
  /** Undefined if the account has no bucket with this id. */
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
