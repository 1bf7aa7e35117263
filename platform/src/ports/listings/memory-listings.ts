/** Listings in memory, for tests of what is above the port. */
import { hash } from "node:crypto";
import { type Entry, isOfAListing, layoutOf, namesOf } from "./layout.ts";
import type { ListingSource, SourceReading, TextFile } from "./listings.ts";

export class MemoryListings implements ListingSource {
  readonly kind = "folder";
  readonly place = "memory";
  readonly renewEveryMs = undefined;
  /** The text of each file, by its path. Tests change it. */
  files: Record<string, string>;
  /** Why nothing can be read, if a test says so. */
  trouble: string | undefined;

  constructor(files: Record<string, string>) {
    this.files = files;
  }

  async renew(): Promise<void> {}

  async read(): Promise<SourceReading> {
    if (this.trouble !== undefined) throw new Error(this.trouble);
    const entries: Entry[] = Object.keys(this.files)
      .filter(isOfAListing)
      .map((path) => ({ path, bytes: Buffer.byteLength(this.files[path]!), isLink: false }));
    const { places, images, faults } = layoutOf(entries);
    const file = (path: string | undefined): TextFile | undefined =>
      path === undefined ? undefined : { path, text: this.files[path]! };
    const listings = places.map(({ folder, ...paths }) => {
      const files = { hub: file(paths.hub)!, tests: file(paths.tests), readme: file(paths.readme) };
      const texts = Object.values(files).map((one) => one?.text ?? "");
      const version = hash("sha256", JSON.stringify(texts)).slice(0, 12);
      return { ...namesOf(folder, { owner: "memory", name: "source" }), ...files, version, changedAt: 0 };
    });
    return { listings, images: file(images), faults };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
