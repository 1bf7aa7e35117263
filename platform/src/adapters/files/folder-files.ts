/** A volume's files in a folder of this machine, where untrusted programs write at the same time. */

import type { BigIntStats, Dirent } from "node:fs";
import { constants } from "node:fs";
import { type FileHandle, link, open, opendir, readlink, rename, rmdir, statfs, unlink } from "node:fs/promises";
import { resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { DISK_IS_FULL } from "../../ports/disk.ts";
import {
  type Draft,
  type Entry,
  type FileFacts,
  type FilePath,
  FileRefused,
  type Files,
  HIDDEN_FOLDER,
  isInside,
  isNoName,
  type KeepOptions,
  LATEST_FILE_TIME,
  type Link,
  type Listing,
  noName,
  type OpenedFile,
  type Removed,
} from "../../ports/files/files.ts";
import { moveWithin } from "./folder-move.ts";
import { removeTree } from "./folder-removal.ts";
import {
  FILE_MODE,
  ifForbidden,
  isNothing,
  kindOf,
  look,
  openFolder,
  openTop,
  refusalOf,
  reopen,
  within,
} from "./folder-steps.ts";

const READ_AT_ONCE = 1024 * 1024;
/** After this many more bytes of a file, the free space of the disk is checked again. */
const LOOK_BYTES = 16 * 1024 * 1024;
const NEW = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Names of drafts have a dot, names of the hidden folders beside them do not. */
const DRAFT = "draft.";

export class FolderFiles implements Files {
  readonly #top: string;
  readonly #random: Random;
  readonly #bytesLeft: () => Promise<number | undefined>;
  readonly #diskLeft: () => Promise<number>;
  readonly #mayRead: (stats: BigIntStats) => boolean;
  readonly hidden: Files["hidden"];

  /**
   * `bytesLeft` is for volumes whose size nothing else limits: the bytes that still fit there, as far as that is known. `diskLeft` is the
   * space that files may still use on the disk below. `mayRead` says which files are read at all.
   */
  constructor(
    top: string,
    random: Random,
    bytesLeft: () => Promise<number | undefined> = async () => undefined,
    diskLeft: () => Promise<number> = async () => Number.POSITIVE_INFINITY,
    mayRead: (stats: BigIntStats) => boolean = () => true,
  ) {
    this.#top = top;
    this.#random = random;
    this.#bytesLeft = bytesLeft;
    this.#diskLeft = diskLeft;
    this.#mayRead = mayRead;
    const inside = (path: FilePath) => [HIDDEN_FOLDER, ...path];
    this.hidden = {
      find: (path) => this.#find(inside(path)),
      open: (path) => this.#open(inside(path)),
      remove: (path) => this.#remove(inside(path)),
      list: (path, ask) => this.#list(inside(path), ask),
    };
  }

  find = async (path: FilePath) => (isHidden(path) ? undefined : this.#find(path));
  open = async (path: FilePath) => (isHidden(path) ? undefined : this.#open(path));
  list = async (path: FilePath, ask: Listing) => (isHidden(path) ? undefined : this.#list(path, ask));

  async remove(path: FilePath): Promise<void> {
    if (!isHidden(path)) await this.#remove(path);
  }

  async removeAll(path: FilePath, most: number): Promise<Removed> {
    refuseHidden(path);
    const removed = await this.#at(path, async (folder, name) => {
      // A link under the name counts as nothing.
      await using held = name === "." ? undefined : await look(folder, name);
      return held && (await removeTree(folder, name, most));
    });
    return removed ?? { count: 0, isWhole: true };
  }

  async move(from: FilePath, to: FilePath): Promise<FileFacts | undefined> {
    for (const path of [from, to]) refuseHidden(path);
    const target = to.at(-1) ?? "";
    if (isNoName(target) || isInside(to, from)) throw noName(to.join("/"));
    return this.#at(from, async (folder, name) => {
      await using held = await look(folder, name);
      if (!held || name === ".") return undefined;
      await using top = await openTop(this.#top);
      await using parent = (await openFolder(top, to.slice(0, -1), true))!;
      const isFolder = (await held.stat()).isDirectory();
      await moveWithin({ folder, name }, { folder: parent, name: target }, isFolder);
      return factsOf(await held.stat({ bigint: true }));
    });
  }

  async makeFolder(path: FilePath): Promise<FileFacts> {
    refuseHidden(path);
    await using top = await openTop(this.#top);
    await using folder = await openFolder(top, path, true);
    await folder!.sync();
    return factsOf(await folder!.stat({ bigint: true }));
  }

  async draft(size = 0): Promise<Draft> {
    await using opened = new AsyncDisposableStack();
    const top = opened.use(await openTop(this.#top));
    const folder = opened.use((await openFolder(top, [HIDDEN_FOLDER], true))!);
    const name = `${DRAFT}${resourceId(this.#random)}`;
    const diskLeft = await this.#diskLeft();
    if (diskLeft <= 0 || diskLeft < size) throw diskIsFull();
    const left = (await this.#bytesLeft()) ?? Number.POSITIVE_INFINITY;
    if (size > Math.min(left, await freeIn(top))) throw volumeIsFull();
    const file = await open(within(folder, name), NEW, FILE_MODE).catch((error) => {
      throw refusalOf(error, "a new file cannot be made");
    });
    opened.use(file);
    const kept = opened.move();
    return new FolderDraft({
      top,
      folder,
      name,
      file,
      left,
      diskLeft: this.#diskLeft,
      close: () => kept.disposeAsync(),
    });
  }

  async #find(path: FilePath): Promise<FileFacts | undefined> {
    return this.#at(path, async (folder, name) => {
      await using held = await look(folder, name);
      return held && factsOf(await held.stat({ bigint: true }));
    });
  }

  async #open(path: FilePath): Promise<OpenedFile | undefined> {
    return this.#at(path, async (folder, name) => {
      await using held = await look(folder, name);
      const stats = await held?.stat({ bigint: true });
      const facts = stats && factsOf(stats);
      if (facts?.kind !== "file") return undefined;
      if (!this.#mayRead(stats!)) throw new FileRefused("forbidden", `'${path.join("/")}' is closed to others.`);
      const file = await reopen(held!).catch((error) => {
        throw refusalOf(error, `'${name}' cannot be read`);
      });
      return { facts, read: (range) => readFrom(file, range), [Symbol.asyncDispose]: () => file.close() };
    });
  }

  async #remove(path: FilePath): Promise<void> {
    await this.#at(path, async (folder, name) => {
      await using held = await look(folder, name);
      if (!held) return;
      const isFolder = (await held.stat()).isDirectory();
      const target = within(folder, name);
      await (isFolder ? rmdir(target) : unlink(target)).catch((error) => {
        // Somebody else removed it first, or the folder is not empty.
        if (isNothing(error) || ["ENOTEMPTY", "EEXIST", "EISDIR"].includes(error.code)) return;
        throw refusalOf(error, `'${name}' cannot be removed`);
      });
      await folder.sync();
    });
  }

  async #list(path: FilePath, ask: Listing): Promise<Entry[] | undefined> {
    await using top = await openTop(this.#top);
    await using folder = await openFolder(top, path);
    if (!folder) return undefined;
    const first = new FirstNames(ask);
    for await (const entry of await opendir(within(folder, "."), {
      encoding: "buffer" as BufferEncoding,
      bufferSize: 512,
    })) {
      const name = textOf((entry as unknown as { name: Buffer }).name);
      if (name === undefined || (path.length === 0 && name === HIDDEN_FOLDER)) continue;
      const kind = kindIn(entry) ?? (isUntold(entry) ? await kindOf(folder, name) : undefined);
      if (kind) first.add({ name, kind });
    }
    return first.entries;
  }

  async links(path: FilePath, most: number): Promise<Link[] | undefined> {
    if (isHidden(path)) return undefined;
    await using top = await openTop(this.#top);
    await using folder = await openFolder(top, path);
    if (!folder) return undefined;
    const found: Link[] = [];
    for await (const { name } of await opendir(within(folder, "."))) {
      if (found.length === most) break;
      // What is no link, or went meanwhile, cannot be read as one.
      const to = await readlink(within(folder, name)).catch(() => undefined);
      if (to !== undefined) found.push({ name, to });
    }
    return found;
  }

  async #at<T>(path: FilePath, act: (folder: FileHandle, name: string) => Promise<T>): Promise<T | undefined> {
    const name = path.at(-1);
    if (name !== undefined && isNoName(name)) return undefined;
    await using top = await openTop(this.#top);
    await using folder = await openFolder(top, path.slice(0, -1));
    return folder && (await act(folder, name ?? "."));
  }
}

const isHidden = ([first]: FilePath) => first === HIDDEN_FOLDER;

const volumeIsFull = () => new FileRefused("full", "The volume is full: that would be more than its size.");

/** What the file system of a volume still takes; it is the volume's own where that is held to its size. */
async function freeIn(top: FileHandle): Promise<number> {
  const { bavail, bsize } = await statfs(within(top, "."));
  return bavail * bsize;
}

const diskIsFull = () =>
  new FileRefused(
    "full",
    `The ${DISK_IS_FULL.slice("the ".length)}: its last room is not for files. Remove something, or ask the operator to make room.`,
  );

function refuseHidden(path: FilePath): void {
  if (isHidden(path)) throw new FileRefused("forbidden", `'${HIDDEN_FOLDER}' is kept for uploads that are under way.`);
}

interface DraftParts {
  top: FileHandle;
  /** The hidden folder that holds the draft. */
  folder: FileHandle;
  name: string;
  file: FileHandle;
  /** How many bytes the draft may have. */
  left: number;
  diskLeft(): Promise<number>;
  close(): Promise<void>;
}

class FolderDraft implements Draft {
  readonly #parts: DraftParts;
  #isKept = false;
  #written = 0;
  /** Up to this size the disk was found to have space. Others write there too, so it is checked again later. */
  #looked = 0;

  constructor(parts: DraftParts) {
    this.#parts = parts;
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { file, left } = this.#parts;
    this.#written += chunk.length;
    if (this.#written > left) throw volumeIsFull();
    if (this.#written > this.#looked) await this.#look(chunk.length);
    try {
      for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at, chunk.length - at)).bytesWritten;
    } catch (error) {
      throw refusalOf(error, "the file cannot be written");
    }
  }

  async #look(next: number): Promise<void> {
    if ((await this.#parts.diskLeft()) < next) throw diskIsFull();
    this.#looked = this.#written + LOOK_BYTES;
  }

  async keep(path: FilePath, { ifAbsent = false, hidden = false }: KeepOptions = {}): Promise<FileFacts> {
    if (!hidden) refuseHidden(path);
    const name = path.at(-1) ?? "";
    if (isNoName(name)) throw noName(name);
    const { top, file } = this.#parts;
    const parents = [...(hidden ? [HIDDEN_FOLDER] : []), ...path.slice(0, -1)];
    await using parent = (await openFolder(top, parents, true))!;
    try {
      const { uid, gid } = await parent.stat();
      await file.chown(uid, gid).catch(ifForbidden);
      await file.chmod(FILE_MODE);
      await file.sync();
      await this.#moveTo(within(parent, name), ifAbsent);
      await parent.sync();
    } catch (error) {
      throw refusalOf(error, `something else than a file is at '${path.join("/")}'`);
    }
    return factsOf(await file.stat({ bigint: true }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { folder, name, close } = this.#parts;
    if (!this.#isKept) await unlink(within(folder, name)).catch(ifNothing);
    await close();
  }

  /** Moves the draft by name. If a program has replaced the file under that name, its own file is moved, which harms nobody else. */
  async #moveTo(target: string, ifAbsent: boolean): Promise<void> {
    const { folder, name } = this.#parts;
    const source = within(folder, name);
    if (!ifAbsent) await rename(source, target);
    else {
      await link(source, target);
      await unlink(source);
    }
    this.#isKept = true;
  }
}

function ifNothing(error: unknown): void {
  if (!isNothing(error)) throw error;
}

async function* readFrom(file: FileHandle, range?: { start: number; end: number }): AsyncIterable<Buffer> {
  const end = range?.end ?? Number.POSITIVE_INFINITY;
  for (let at = range?.start ?? 0; at <= end; ) {
    const length = Math.min(READ_AT_ONCE, end - at + 1);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function factsOf(stats: BigIntStats): FileFacts {
  const { ino, size, mtimeNs, mtimeMs } = stats;
  // Programs can set any modification time.
  const modifiedAt = Math.min(Math.max(0, Number(mtimeMs)), LATEST_FILE_TIME);
  if (stats.isDirectory()) return { kind: "folder", size: 0, modifiedAt, tag: ino.toString(16) };
  const tag = [ino, mtimeNs, size].map((number) => number.toString(16)).join("");
  return { kind: "file", size: Number(size), modifiedAt, tag };
}

/** Undefined for bytes that are not UTF-8. */
function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}

function kindIn(entry: Dirent): Entry["kind"] | undefined {
  return entry.isFile() ? "file" : entry.isDirectory() ? "folder" : undefined;
}

const isUntold = (entry: Dirent) =>
  !entry.isSymbolicLink() &&
  !entry.isFIFO() &&
  !entry.isSocket() &&
  !entry.isBlockDevice() &&
  !entry.isCharacterDevice();

/** Collects the first few names of a folder. The folder may hold millions of names, which are never in memory together. */
class FirstNames {
  readonly #most: number;
  readonly #after: Buffer | undefined;
  readonly #startsWith: string;
  #found: { entry: Entry; order: Buffer }[] = [];

  constructor({ most, after, startsWith = "" }: Listing) {
    this.#most = most;
    this.#after = after === undefined ? undefined : Buffer.from(after);
    this.#startsWith = startsWith;
  }

  get entries(): Entry[] {
    this.#cut();
    return this.#found.map(({ entry }) => entry);
  }

  add(entry: Entry): void {
    const name = orderedName(entry);
    if (!name.startsWith(this.#startsWith)) return;
    const order = Buffer.from(name);
    if (this.#after && Buffer.compare(order, this.#after) <= 0) return;
    this.#found.push({ entry, order });
    if (this.#found.length >= this.#most * 2 + 1000) this.#cut();
  }

  #cut(): void {
    this.#found.sort((a, b) => Buffer.compare(a.order, b.order));
    this.#found = this.#found.slice(0, this.#most);
  }
}

const orderedName = ({ name, kind }: Entry) => (kind === "folder" ? `${name}/` : name);
