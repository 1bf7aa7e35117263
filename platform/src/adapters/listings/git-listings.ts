/** A Git repository as a source of listings. Its files are read from its objects: nothing is ever checked out or run. */
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { type Entry, isOfAListing, isWorthALook, layoutOf, namesOf, safeName } from "../../ports/listings/layout.ts";
import {
  type FoundListing,
  type ListingSource,
  SOURCE_LIMITS,
  type SourceReading,
  type TextFile,
} from "../../ports/listings/listings.ts";
import { type GitAccess, GitProgram } from "./git-program.ts";

const LOOK_MS = 30_000;
const FETCH_MS = 300_000;
const READ_MS = 60_000;
const KEPT_REF = "refs/millrace/kept";
const COMMIT = /^[0-9a-f]{40}([0-9a-f]{24})?$/;

export interface GitListingsParts {
  url: string;
  /** A branch, a tag or a commit; the repository's default branch by default. */
  ref?: string | undefined;
  /** Where its objects are kept on this machine. */
  folder: string;
  everyMs: number;
  access: GitAccess;
  clock: Clock;
}

interface GitObject extends Entry {
  id: string;
}

export class GitListings implements ListingSource {
  readonly kind = "git";
  readonly place: string;
  readonly renewEveryMs: number;
  readonly #parts: GitListingsParts;
  readonly #git: GitProgram;
  #reading: SourceReading | undefined;

  constructor(parts: GitListingsParts) {
    this.#parts = parts;
    this.place = parts.ref === undefined ? parts.url : `${parts.url}#${parts.ref}`;
    this.renewEveryMs = parts.everyMs;
    this.#git = new GitProgram(parts.access, parts.clock);
  }

  /** A changed repository is fetched beside the kept one and then takes its place, so a broken fetch loses nothing. */
  async renew(): Promise<void> {
    const { folder, url } = this.#parts;
    await this.#recover();
    const { commit, name } = await this.#newest();
    if ((await this.#kept())?.commit === commit) return;
    const next = `${folder}.next`;
    await rm(next, { recursive: true, force: true });
    await mkdir(dirname(folder), { recursive: true });
    await this.#in(next, ["init", "--quiet", "--bare", next], READ_MS, { isNew: true });
    const shallow = ["--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1"];
    await this.#in(next, ["fetch", ...shallow, "--", url, `+${name}:${KEPT_REF}`], FETCH_MS);
    await this.#in(next, ["config", "millrace.label", labelOf(name, commit)], READ_MS);
    await rm(`${folder}.old`, { recursive: true, force: true });
    if (existsSync(folder)) await rename(folder, `${folder}.old`);
    await rename(next, folder);
    await rm(`${folder}.old`, { recursive: true, force: true });
    this.#reading = undefined;
  }

  async read(): Promise<SourceReading> {
    await this.#recover();
    this.#reading ??= await this.#readAll();
    return this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#git[Symbol.asyncDispose]();
  }

  async #readAll(): Promise<SourceReading> {
    const kept = await this.#kept();
    if (!kept) throw new Error("it was not fetched yet");
    const { objects, trees } = await this.#objects();
    const { places, images, faults: found } = layoutOf(objects);
    const faults = [...found];
    const byPath = new Map(objects.map((object) => [object.path, object]));
    const wanted = [...places.flatMap(({ hub, tests, readme }) => [hub, tests, readme]), images].filter(
      (path) => path !== undefined,
    );
    const texts = await this.#texts(wanted.map((path) => byPath.get(path)!));
    const file = (path: string | undefined): TextFile | undefined => {
      if (path === undefined) return undefined;
      const text = texts.get(byPath.get(path)!.id);
      if (text === undefined) faults.push({ file: path, field: "", why: "is not UTF-8 text" });
      return text === undefined ? undefined : { path, text };
    };
    const listings = places.flatMap(({ folder, ...paths }): FoundListing[] => {
      const hub = file(paths.hub);
      if (!hub) return [];
      const version = trees.get(folder)!.slice(0, 12);
      const about = { version, label: kept.label, changedAt: kept.madeAt };
      return [{ ...this.#names(folder), hub, tests: file(paths.tests), readme: file(paths.readme), ...about }];
    });
    const namedImages = file(images);
    return { listings, images: namedImages, faults: faults.slice(0, SOURCE_LIMITS.faults) };
  }

  #names(folder: string) {
    const [name = "", owner = ""] = this.#parts.url
      .replace(/\/+$/, "")
      .replace(/\.git$/, "")
      .split(/[/:]/)
      .reverse();
    return namesOf(folder, { owner: safeName(owner, "git"), name: safeName(name, "repository") });
  }

  /** What the repository has under the wanted name now. A tag stands for its commit. */
  async #newest(): Promise<{ commit: string; name: string }> {
    const { url, ref = "HEAD" } = this.#parts;
    if (COMMIT.test(ref)) return { commit: ref, name: ref };
    const said = await this.#git.run({ args: ["ls-remote", "--quiet", "--", url, ref, `${ref}^{}`], limitMs: LOOK_MS });
    const found = new Map(
      said
        .toString()
        .split("\n")
        .map((line) => line.split("\t"))
        .filter(([id, name]) => COMMIT.test(id ?? "") && name !== undefined)
        .map(([id, name]) => [name!, id!]),
    );
    for (const name of [`refs/tags/${ref}`, `refs/heads/${ref}`, ref]) {
      const commit = found.get(`${name}^{}`) ?? found.get(name);
      if (commit !== undefined) return { commit, name };
    }
    throw new Error(`the repository has no branch or tag '${ref}'`);
  }

  /** The commit that is here; undefined if none is. */
  async #kept(): Promise<{ commit: string; madeAt: number; label: string } | undefined> {
    const { folder } = this.#parts;
    if (!existsSync(folder)) return undefined;
    const shown = await this.#in(folder, ["show", "-s", "--format=%H %ct", `${KEPT_REF}^{commit}`, "--"], READ_MS);
    const [commit = "", seconds = "0"] = shown.toString().trim().split(" ");
    const label = await this.#in(folder, ["config", "millrace.label"], READ_MS);
    return { commit, madeAt: Number(seconds) * 1000, label: label.toString().trim() };
  }

  async #objects(): Promise<{ objects: GitObject[]; trees: Map<string, string> }> {
    const { folder } = this.#parts;
    const root = await this.#in(folder, ["rev-parse", `${KEPT_REF}^{tree}`], READ_MS);
    const trees = new Map([["", root.toString().trim()]]);
    const listed = await this.#in(folder, ["ls-tree", "-r", "-t", "-l", "-z", "--full-tree", KEPT_REF], READ_MS);
    const objects: GitObject[] = [];
    for (const line of listed.toString().split("\0")) {
      const [, mode, type, id, bytes, path] = /^(\d+) (\w+) (\w+)\s+(-|\d+)\t(.*)$/s.exec(line) ?? [];
      if (path === undefined || id === undefined) continue;
      if (type === "tree" && isWorthALook(path)) trees.set(path, id);
      const folderOf = dirname(path) === "." ? "" : dirname(path);
      if (type !== "blob" || !isOfAListing(path) || !trees.has(folderOf)) continue;
      objects.push({ path, id, bytes: Number(bytes), isLink: mode === "120000" });
    }
    return { objects, trees };
  }

  /** The texts of objects by their id; absent where one is not UTF-8. */
  async #texts(objects: readonly GitObject[]): Promise<Map<string, string>> {
    if (objects.length === 0) return new Map();
    const input = objects.map(({ id }) => `${id}\n`).join("");
    const said = await this.#in(this.#parts.folder, ["cat-file", "--batch"], READ_MS, { input });
    const texts = new Map<string, string>();
    for (let at = 0; at < said.length; ) {
      const end = said.indexOf("\n", at);
      const [id = "", , bytes = "0"] = said.subarray(at, end).toString().split(" ");
      const text = textOf(said.subarray(end + 1, end + 1 + Number(bytes)));
      if (text !== undefined) texts.set(id, text);
      at = end + 1 + Number(bytes) + 1;
    }
    return texts;
  }

  /** A crash between the two renames of `renew` leaves the older state under another name. */
  async #recover(): Promise<void> {
    const { folder } = this.#parts;
    if (!existsSync(folder) && existsSync(`${folder}.old`)) await rename(`${folder}.old`, folder);
  }

  #in(folder: string, args: readonly string[], limitMs: number, more: { input?: string; isNew?: boolean } = {}) {
    const where = more.isNew ? [] : ["--git-dir", folder];
    return this.#git.run({
      args: [...where, ...args],
      limitMs,
      ...(more.input !== undefined && { input: more.input }),
    });
  }
}

/** A tag is a name of its own; anything else is called by its commit. */
const labelOf = (name: string, commit: string) => /^refs\/tags\/(.+)$/.exec(name)?.[1] ?? commit.slice(0, 12);

const decoder = new TextDecoder("utf-8", { fatal: true });

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
