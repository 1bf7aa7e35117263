/** Finds the files of a model in a folder: a cache in the layout of the public worker, or just the files. */
import { createHash } from "node:crypto";
import { type FileFacts, type FilePath, type Files, isNoName } from "../../ports/files/files.ts";
import { cacheName, REVISION } from "./model.ts";

/** The files cannot become a model. The message says why. */
export class ModelRefused extends Error {}

export interface SnapshotFile {
  /** Below the folder of the snapshot. */
  path: FilePath;
  size: number;
}

export interface Snapshot {
  revision: string;
  files: readonly SnapshotFile[];
  bytes: number;
}

/** A snapshot, and the place of each file. */
export interface FoundSnapshot extends Snapshot {
  files: readonly (SnapshotFile & { from: FilePath; modifiedAt: number })[];
}

const MOST_FILES = 10_000;
const MOST_BYTES = 4096 * 2 ** 30;
const DEEPEST = 20;
const LONGEST_PATH = 1000;
const LISTED_AT_ONCE = 1000;
const LONGEST_REF = 200;

/** What download tools keep beside a model. */
const NOT_OF_THE_MODEL = [".cache", ".git"];

export interface Wanted {
  name: string;
  revision?: string | undefined;
}

/** Throws ModelRefused. */
export async function snapshotIn(files: Files, folder: FilePath, wanted: Wanted): Promise<FoundSnapshot> {
  const top = await modelFolder(files, folder, wanted.name);
  const revision = await cachedRevision(files, top, wanted.revision);
  if (revision === undefined) {
    const found = await filesBelow(files, top, top);
    return { ...total(found), revision: wanted.revision ?? digestOf(found) };
  }
  return { ...total(await filesBelow(files, [...top, "snapshots", revision], top)), revision };
}

/** The folder of the model itself, where a whole cache was named. */
async function modelFolder(files: Files, folder: FilePath, name: string): Promise<FilePath> {
  const isFolder = async (path: FilePath) => (await files.find(path))?.kind === "folder";
  if (!(await isFolder(folder))) throw new ModelRefused(`there is no folder '${folder.join("/")}'`);
  for (const below of [[cacheName(name)], ["hub", cacheName(name)]])
    if (await isFolder([...folder, ...below])) return [...folder, ...below];
  return folder;
}

/** The snapshot of a cache, or undefined if the folder is none. */
async function cachedRevision(files: Files, top: FilePath, wanted = "main"): Promise<string | undefined> {
  const snapshots = await files.list([...top, "snapshots"], { most: 100 });
  if (!snapshots) return undefined;
  const names = snapshots.filter(({ kind }) => kind === "folder").map(({ name }) => name);
  if (names.includes(wanted)) return wanted;
  const told = (await textOf(files, [...top, "refs", wanted]))?.trim();
  if (told !== undefined && names.includes(told) && new RegExp(`^${REVISION}$`).test(told)) return told;
  const has = names.slice(0, 3).join(", ") || "none";
  throw new ModelRefused(
    told === undefined
      ? `the cache has no 'refs/${wanted}' and no snapshot of that name; its snapshots: ${has}`
      : `'refs/${wanted}' of the cache names a snapshot that is not there; its snapshots: ${has}`,
  );
}

async function textOf(files: Files, path: FilePath): Promise<string | undefined> {
  await using opened = await files.open(path);
  if (!opened || opened.facts.size > LONGEST_REF) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of opened.read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** All files below a folder. A link counts as the file that it leads to, which must be below `top`. */
async function filesBelow(files: Files, folder: FilePath, top: FilePath): Promise<FoundSnapshot["files"]> {
  const found: FoundSnapshot["files"][number][] = [];
  const add = (path: FilePath, from: FilePath, { size, modifiedAt }: FileFacts) => {
    if (found.length === MOST_FILES) throw new ModelRefused(`it has more than ${MOST_FILES} files`);
    if (Buffer.byteLength(path.join("/")) > LONGEST_PATH)
      throw new ModelRefused(`a path has more than ${LONGEST_PATH} bytes: ${path.join("/").slice(0, 80)}…`);
    found.push({ path, from, size, modifiedAt });
  };
  const waiting: FilePath[] = [[]];
  for (let path = waiting.pop(); path; path = waiting.pop()) {
    if (path.length > DEEPEST) throw new ModelRefused(`it has folders more than ${DEEPEST} deep`);
    for await (const { name, kind } of entriesOf(files, [...folder, ...path])) {
      const below = [...path, name];
      if (kind === "folder") {
        if (path.length > 0 || !NOT_OF_THE_MODEL.includes(name)) waiting.push(below);
        continue;
      }
      const facts = await files.find([...folder, ...below]);
      if (facts?.kind === "file") add(below, [...folder, ...below], facts);
    }
    for (const link of (await files.links([...folder, ...path], MOST_FILES + 1)) ?? []) {
      const from = targetOf([...folder, ...path], link.to);
      const facts = from && isBelow(from, top) ? await files.find(from) : undefined;
      if (facts?.kind !== "file")
        throw new ModelRefused(
          `the link '${[...path, link.name].join("/")}' leads to no file of the model's own folder`,
        );
      add([...path, link.name], from!, facts);
    }
  }
  return found.sort((a, b) => (a.path.join("/") < b.path.join("/") ? -1 : 1));
}

async function* entriesOf(files: Files, folder: FilePath) {
  let after: string | undefined;
  for (;;) {
    const page = (await files.list(folder, { most: LISTED_AT_ONCE, after })) ?? [];
    yield* page;
    const last = page.length < LISTED_AT_ONCE ? undefined : page.at(-1);
    if (!last) return;
    after = last.kind === "folder" ? `${last.name}/` : last.name;
  }
}

/** Undefined for a link that is absolute or leads up and out. */
function targetOf(folder: FilePath, to: string): FilePath | undefined {
  const names = [...folder];
  for (const name of to.split("/")) {
    if (name === ".") continue;
    if (name === ".." ? names.pop() === undefined : isNoName(name)) return undefined;
    if (name !== "..") names.push(name);
  }
  return names;
}

const isBelow = (path: FilePath, top: FilePath) =>
  path.length > top.length && top.every((name, at) => path[at] === name);

function total(files: FoundSnapshot["files"]): Omit<FoundSnapshot, "revision"> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  if (files.length === 0) throw new ModelRefused("there are no files in the folder");
  if (bytes > MOST_BYTES) throw new ModelRefused(`it has more than ${MOST_BYTES / 2 ** 30} GB`);
  return { files, bytes };
}

/** Unchanged files have the same name. It looks as the names of snapshots do. */
function digestOf(files: FoundSnapshot["files"]): string {
  const hash = createHash("sha1");
  for (const { path, size, modifiedAt } of files) hash.update(`${path.join("/")}\0${size}\0${modifiedAt}\n`);
  return hash.digest("hex");
}
