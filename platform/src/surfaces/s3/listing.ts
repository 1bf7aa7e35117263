/** Lists the keys of a volume in order, page by page. It walks folders as far as a page needs, and never reads them whole. */
import type { FileFacts, FilePath, Files } from "../../ports/files/files.ts";

export interface KeyListing {
  prefix: string;
  delimiter: string;
  /** Only keys after this one. */
  after: string | undefined;
  most: number;
  /** Whether the client has gone. */
  isGone?: () => boolean;
}

export interface KeyPage {
  contents: { key: string; facts: FileFacts }[];
  prefixes: string[];
  /** The next page begins after this; absent on the last page. */
  next?: string;
}

/** One page looks into at most this many folders. If many are empty, the page has fewer keys and the next page goes on. */
const MOST_LOOKS = 5000;
const LISTED_AT_ONCE = 1000;
/** Deeper folders are not entered. */
const DEEPEST = 64;
/** Sorts after every name in a folder. A page that ends with it has shown a whole group. */
const LAST = "\u{10ffff}";
/** Sorts like `LAST`, where a page ends because it has looked into enough folders. */
const STOPPED = "\u{10fffe}";

interface Found {
  key: string;
  path: FilePath;
  /** The entry stands for all keys with this prefix. */
  isPrefix: boolean;
}

export async function pageOf(files: Files, listing: KeyListing): Promise<KeyPage> {
  const { delimiter, prefix, most, after } = listing;
  const page: KeyPage = { contents: [], prefixes: [] };
  const walk = new Walk(files, listing);
  let last: string | undefined;
  for await (const { key, path, isPrefix } of walk.keys()) {
    const group = isPrefix ? key : groupOf(key, prefix, delimiter);
    if (group !== undefined && (group === page.prefixes.at(-1) || (after?.startsWith(group) && after.endsWith(LAST))))
      continue;
    if (page.contents.length + page.prefixes.length >= most)
      return { ...page, ...(last !== undefined && { next: last }) };
    if (group !== undefined) {
      page.prefixes.push(group);
      last = group + LAST;
      continue;
    }
    const facts = await files.find(path);
    // The file was deleted while it was listed.
    if (!facts) continue;
    page.contents.push({ key, facts });
    last = key;
  }
  const { stoppedAt } = walk;
  if (stoppedAt === undefined) return page;
  const group = page.prefixes.at(-1);
  return { ...page, next: group !== undefined && stoppedAt.startsWith(group) ? group + LAST : stoppedAt };
}

function groupOf(key: string, prefix: string, delimiter: string): string | undefined {
  if (delimiter === "") return undefined;
  const at = key.indexOf(delimiter, prefix.length);
  // The key of an empty folder is shown itself if it is exactly what was asked for.
  return at === -1 || key === prefix ? undefined : key.slice(0, at + delimiter.length);
}

class Walk {
  readonly #files: Files;
  readonly #listing: KeyListing;
  #looks = 0;
  /** The next page begins after this, because the walk stopped early. */
  stoppedAt: string | undefined;

  constructor(files: Files, listing: KeyListing) {
    this.#files = files;
    this.#listing = listing;
  }

  async *keys(): AsyncIterable<Found> {
    const { prefix, after } = this.#listing;
    const base = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const folder = base === "" ? [] : base.slice(0, -1).split("/");
    if (folder.some((name) => name === "" || name === "." || name === "..")) return;
    yield* this.#inFolder(folder, base, after, prefix.slice(base.length));
  }

  /** Yields the keys after `after` in a folder whose own key is `base`. */
  async *#inFolder(folder: FilePath, base: string, after: string | undefined, startsWith = ""): AsyncIterable<Found> {
    const begin = beginIn(base, after);
    if (begin === "nothing") return;
    const { inside } = begin;
    // Finishes the folder in which the last page ended, before the ones after it.
    if (inside?.name.startsWith(startsWith)) yield* this.#folder(folder, base, inside.name, after);
    if (this.stoppedAt !== undefined) return;
    let from = inside ? `${inside.name}/` : begin.after;
    let isEmpty = true;
    for (;;) {
      if (this.#mustStop(base, from)) return;
      const entries = await this.#files.list(folder, { after: from, startsWith, most: LISTED_AT_ONCE });
      if (!entries) return;
      for (const { name, kind } of entries) {
        isEmpty = false;
        if (kind === "file") yield { key: `${base}${name}`, path: [...folder, name], isPrefix: false };
        else yield* this.#folder(folder, base, name, after);
        if (this.stoppedAt !== undefined) return;
      }
      if (entries.length < LISTED_AT_ONCE) break;
      const { name, kind } = entries.at(-1)!;
      from = kind === "folder" ? `${name}/` : name;
    }
    const isNew = after === undefined || Buffer.compare(Buffer.from(base), Buffer.from(after)) > 0;
    // An empty folder is a key of its own; otherwise no one would see it.
    if (isEmpty && from === undefined && base !== "" && startsWith === "" && isNew)
      yield { key: base, path: folder, isPrefix: false };
  }

  async *#folder(parent: FilePath, base: string, name: string, after: string | undefined): AsyncIterable<Found> {
    const key = `${base}${name}/`;
    const path = [...parent, name];
    const isGrouped = this.#listing.delimiter === "/" && key.length > this.#listing.prefix.length;
    if (isGrouped) {
      if ((await this.#files.find(path))?.kind === "folder") yield { key, path, isPrefix: true };
    } else if (path.length < DEEPEST) yield* this.#inFolder(path, key, after);
  }

  /** `from` is the name up to which the folder was walked, or undefined if it was not looked into yet. */
  #mustStop(base: string, from: string | undefined): boolean {
    if (this.#listing.isGone?.() || ++this.#looks > MOST_LOOKS)
      this.stoppedAt = from === undefined ? justBefore(base) : `${base}${from}${from.endsWith("/") ? STOPPED : ""}`;
    return this.stoppedAt !== undefined;
  }
}

/** Sorts before the folder and after what precedes it, because a dot is the character before the slash. */
const justBefore = (folder: string) => `${folder.slice(0, -1)}.${STOPPED}`;

/** Where to continue in a folder after a key: after a name in it, or inside one of its folders. */
function beginIn(
  base: string,
  after: string | undefined,
): "nothing" | { after?: string | undefined; inside?: { name: string } | undefined } {
  if (after === undefined) return {};
  if (!after.startsWith(base)) return Buffer.compare(Buffer.from(after), Buffer.from(base)) < 0 ? {} : "nothing";
  const rest = after.slice(base.length);
  const slash = rest.indexOf("/");
  if (rest === "") return {};
  return slash === -1 ? { after: rest } : { inside: { name: rest.slice(0, slash) } };
}
