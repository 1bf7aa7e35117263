/** A folder of this machine as a source of listings. It is read where it is, so a change shows with the next look. */
import { hash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Entry, isOfAListing, isWorthALook, layoutOf, namesOf, safeName } from "../../ports/listings/layout.ts";
import {
  type Fault,
  type FoundListing,
  type ListingSource,
  SOURCE_LIMITS,
  type SourceReading,
  type TextFile,
} from "../../ports/listings/listings.ts";

export class FolderListings implements ListingSource {
  readonly kind = "folder";
  readonly place: string;
  readonly renewEveryMs = undefined;
  readonly #owner: string | undefined;
  readonly #root: string;

  /** `owner` is who the listings belong to where their folders do not say, and `root` what programs of this machine must be within. */
  constructor(folder: string, { owner, root = folder }: { owner?: string; root?: string } = {}) {
    this.place = folder;
    this.#owner = owner;
    this.#root = root;
  }

  async renew(): Promise<void> {}

  async read(): Promise<SourceReading> {
    const { entries, faults: seen } = await this.#look();
    const { places, images, faults: found } = layoutOf(entries);
    const faults = [...seen, ...found];
    const listings: FoundListing[] = [];
    for (const place of places) {
      const files = await this.#texts(place, faults);
      if (!files) continue;
      const texts = [files.hub, files.tests, files.readme].map((file) => file?.text ?? "");
      listings.push({
        ...this.#namesIn(place.folder),
        ...files,
        version: hash("sha256", JSON.stringify(texts)).slice(0, 12),
        changedAt: Math.floor((await lstat(join(this.place, place.hub))).mtimeMs),
        folder: { path: join(this.place, place.folder), root: this.#root },
      });
    }
    return {
      listings,
      images: images === undefined ? undefined : await this.#textOf(images, faults),
      faults: faults.slice(0, SOURCE_LIMITS.faults),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Without an owner in its path, a listing belongs to the folder that it is in. */
  #namesIn(folder: string): { owner: string; name: string } {
    const above = folder === "" ? dirname(this.place) : this.place;
    const owner = this.#owner ?? safeName(basename(above), "local");
    return namesOf(folder, { owner, name: safeName(basename(this.place), "listing") });
  }

  async #texts({ hub, tests, readme }: { hub: string; tests?: string; readme?: string }, faults: Fault[]) {
    const read = async (path: string | undefined) =>
      path === undefined ? undefined : await this.#textOf(path, faults);
    const text = await read(hub);
    return text && { hub: text, tests: await read(tests), readme: await read(readme) };
  }

  async #look(): Promise<{ entries: Entry[]; faults: Fault[] }> {
    const entries: Entry[] = [];
    const faults: Fault[] = [];
    let names = 0;
    const walk = async (folder: string): Promise<void> => {
      for (const found of await readdir(join(this.place, folder), { withFileTypes: true })) {
        if (++names > SOURCE_LIMITS.names) return;
        const path = folder === "" ? found.name : `${folder}/${found.name}`;
        if (found.isDirectory() && isWorthALook(path)) await walk(path);
        else if (isOfAListing(path)) entries.push(await entryOf(this.place, path));
        else if (found.isSymbolicLink() && isWorthALook(path))
          faults.push({ file: path, field: "", why: "is a symbolic link, and links are not followed" });
      }
    };
    await walk("");
    if (names > SOURCE_LIMITS.names)
      faults.push({ file: "", field: "", why: `has more than ${SOURCE_LIMITS.names} names; the rest was not read` });
    return { entries, faults };
  }

  async #textOf(path: string, faults: Fault[]): Promise<TextFile | undefined> {
    try {
      return { path, text: await boundedText(join(this.place, path)) };
    } catch (error) {
      faults.push({ file: path, field: "", why: `cannot be read: ${(error as Error).message}` });
      return undefined;
    }
  }
}

async function entryOf(root: string, path: string): Promise<Entry> {
  const found = await lstat(join(root, path));
  return { path, bytes: found.size, isLink: !found.isFile() };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The file may have been replaced since it was looked at, so the bounds hold once more. */
async function boundedText(path: string): Promise<string> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const bytes = Buffer.alloc(SOURCE_LIMITS.fileBytes + 1);
  if (!(await file.stat()).isFile()) throw new Error("it is not a file");
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length);
    if (bytesRead === 0) break;
    length += bytesRead;
    if (length === bytes.length) throw new Error(`it has more than ${SOURCE_LIMITS.fileBytes} bytes`);
  }
  return decoder.decode(bytes.subarray(0, length));
}
