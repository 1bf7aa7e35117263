/** A volume's files in memory, for the fake driver, whose programs also put files there. */
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
} from "./files.ts";

const LONGEST_NAME = 255;

interface Node {
  /** "odd" stands for a link or a pipe on a disk: its name is taken, but nothing can be read. */
  kind: FileFacts["kind"] | "odd";
  /** Where a link leads; absent for all that is no link. */
  to?: string;
  bytes: Buffer;
  modifiedAt: number;
  tag: string;
}

export interface MemoryParts {
  now: () => number;
  /** How many bytes may still be written; unlimited if absent. */
  bytesLeft?: () => number;
}

export class MemoryFiles implements Files {
  /** The nodes by path, with slashes between names. A folder comes before its contents. */
  readonly #nodes = new Map<string, Node>();
  readonly #parts: MemoryParts;
  readonly hidden: Files["hidden"];
  #changes = 0;

  constructor(parts: MemoryParts) {
    this.#parts = parts;
    this.#nodes.set("", this.#node("folder"));
    const inside = (path: FilePath) => [HIDDEN_FOLDER, ...path];
    this.hidden = {
      find: async (path) => this.#find(inside(path)),
      open: async (path) => this.#open(inside(path)),
      remove: async (path) => this.#remove(inside(path)),
      list: async (path, ask) => this.#list(inside(path), ask),
    };
  }

  get usedBytes(): number {
    return [...this.#nodes.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Writes as a program, which may put a file anywhere. */
  write(path: string, text: string): void {
    const names = path.split("/").filter((name) => name !== "");
    this.#makeFolder(names.slice(0, -1));
    this.#nodes.set(names.join("/"), this.#node("file", Buffer.from(text)));
  }

  /** Returns undefined if there is no file. */
  read(path: string): string | undefined {
    const node = this.#at(path.split("/").filter((name) => name !== ""));
    return node?.kind === "file" ? node.bytes.toString() : undefined;
  }

  /** Puts something there, as a program, that is neither a file nor a folder. */
  putOdd(path: string): void {
    this.#nodes.set(path, this.#node("odd"));
  }

  /** Puts a link there, as a program. */
  putLink(path: string, to: string): void {
    this.#makeFolder(path.split("/").slice(0, -1));
    this.#nodes.set(path, { ...this.#node("odd"), to });
  }

  /** Sets the change time of a file, as a program. */
  date(path: string, modifiedAt: number): void {
    const node = this.#nodes.get(path);
    if (node) this.#nodes.set(path, { ...node, modifiedAt });
  }

  /** Returns all names in a folder, as a program sees them. */
  names = (folder: string): string[] => this.#in(folder).map(({ name }) => name);

  find = async (path: FilePath) => (isHidden(path) ? undefined : this.#find(path));
  open = async (path: FilePath) => (isHidden(path) ? undefined : this.#open(path));
  list = async (path: FilePath, ask: Listing) => (isHidden(path) ? undefined : this.#list(path, ask));

  async remove(path: FilePath): Promise<void> {
    if (!isHidden(path)) this.#remove(path);
  }

  async removeAll(path: FilePath, most: number): Promise<Removed> {
    refuseHidden(path);
    const key = path.join("/");
    if (key === "" || !this.#find(path)) return { count: 0, isWhole: true };
    // What a folder holds was put there after the folder, and goes first.
    const names = [...this.#nodes.keys()].filter((name) => name === key || name.startsWith(`${key}/`)).sort();
    const taken = names.reverse().slice(0, most);
    for (const name of taken) this.#nodes.delete(name);
    return { count: taken.length, isWhole: taken.length === names.length };
  }

  async move(from: FilePath, to: FilePath): Promise<FileFacts | undefined> {
    for (const path of [from, to]) refuseHidden(path);
    checkName(to.at(-1) ?? "");
    if (isInside(to, from)) throw noName(to.join("/"));
    const [source, target] = [from.join("/"), to.join("/")];
    if (source === "" || !this.#find(from)) return undefined;
    this.#makeFolder(to.slice(0, -1));
    if (this.#at(to)) throw new FileRefused("taken", `something is at '${to.at(-1)}' already.`);
    for (const [name, node] of [...this.#nodes]) {
      if (name !== source && !name.startsWith(`${source}/`)) continue;
      this.#nodes.delete(name);
      this.#nodes.set(`${target}${name.slice(source.length)}`, node);
    }
    return this.#find(to);
  }

  async links(path: FilePath, most: number): Promise<Link[] | undefined> {
    if (isHidden(path) || this.#at(path)?.kind !== "folder") return undefined;
    const named = this.#in(path.join("/")).map(({ name }) => ({ name, to: this.#at([...path, name])?.to }));
    return named.flatMap(({ name, to }) => (to === undefined ? [] : [{ name, to }])).slice(0, most);
  }

  async makeFolder(path: FilePath): Promise<FileFacts> {
    refuseHidden(path);
    this.#makeFolder(path);
    return this.#find(path)!;
  }

  async draft(size = 0): Promise<Draft> {
    this.#makeFolder([HIDDEN_FOLDER]);
    const left = this.#parts.bytesLeft?.() ?? Number.POSITIVE_INFINITY;
    if (size > left) throw volumeIsFull();
    const chunks: Uint8Array[] = [];
    let written = 0;
    return {
      write: async (chunk) => {
        written += chunk.length;
        if (written > left) throw volumeIsFull();
        chunks.push(Uint8Array.from(chunk));
      },
      keep: async (path, options) => this.#keep(path, Buffer.concat(chunks), options),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  #keep(path: FilePath, bytes: Buffer, { ifAbsent = false, hidden = false }: KeepOptions = {}): FileFacts {
    if (!hidden) refuseHidden(path);
    const names = hidden ? [HIDDEN_FOLDER, ...path] : path;
    checkName(path.at(-1) ?? "");
    this.#makeFolder(names.slice(0, -1));
    const there = this.#at(names);
    if (there?.kind === "folder" || (there && ifAbsent))
      throw new FileRefused("taken", `something else than a file is at '${path.join("/")}'`);
    this.#nodes.set(names.join("/"), this.#node("file", bytes));
    return this.#find(names)!;
  }

  #makeFolder(path: FilePath): void {
    path.forEach(checkName);
    for (const [n] of path.entries()) {
      const names = path.slice(0, n + 1);
      const there = this.#at(names);
      if (there && there.kind !== "folder") throw new FileRefused("no-folder", `'${names.join("/")}' is no folder.`);
      if (!there) this.#nodes.set(names.join("/"), this.#node("folder"));
    }
  }

  #find(path: FilePath): FileFacts | undefined {
    const node = this.#at(path);
    if (!node || node.kind === "odd") return undefined;
    const modifiedAt = Math.min(Math.max(0, node.modifiedAt), LATEST_FILE_TIME);
    return { kind: node.kind, size: node.bytes.length, modifiedAt, tag: node.tag };
  }

  #open(path: FilePath): OpenedFile | undefined {
    const facts = this.#find(path);
    if (facts?.kind !== "file") return undefined;
    const { bytes } = this.#at(path)!;
    return {
      facts,
      async *read({ start, end } = { start: 0, end: bytes.length - 1 }) {
        if (start < bytes.length) yield bytes.subarray(start, end + 1);
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }

  #remove(path: FilePath): void {
    const key = path.join("/");
    if (key !== "" && this.#find(path) && this.#in(key).length === 0) this.#nodes.delete(key);
  }

  #list(path: FilePath, { after, startsWith = "", most }: Listing): Entry[] | undefined {
    if (this.#find(path)?.kind !== "folder") return undefined;
    const shown = this.#in(path.join("/")).flatMap(({ name, kind }) =>
      kind === "odd" || (path.length === 0 && name === HIDDEN_FOLDER) ? [] : [{ name, kind }],
    );
    return shown
      .map((entry) => ({ entry, order: entry.kind === "folder" ? `${entry.name}/` : entry.name }))
      .filter(({ order }) => order.startsWith(startsWith) && (after === undefined || compare(order, after) > 0))
      .sort((a, b) => compare(a.order, b.order))
      .slice(0, most)
      .map(({ entry }) => entry);
  }

  #at(path: FilePath): Node | undefined {
    return path.some(isNoName) ? undefined : this.#nodes.get(path.join("/"));
  }

  #in(folder: string): { name: string; kind: Node["kind"] }[] {
    const start = folder === "" ? "" : `${folder}/`;
    return [...this.#nodes].flatMap(([key, { kind }]) => {
      const name = key.slice(start.length);
      return key.startsWith(start) && name !== "" && !name.includes("/") ? [{ name, kind }] : [];
    });
  }

  #node(kind: Node["kind"], bytes: Buffer = Buffer.alloc(0)): Node {
    return { kind, bytes, modifiedAt: this.#parts.now(), tag: String(++this.#changes) };
  }
}

const volumeIsFull = () => new FileRefused("full", "The volume is full: that would be more than its size.");

const isHidden = ([first]: FilePath) => first === HIDDEN_FOLDER;

const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function refuseHidden(path: FilePath): void {
  if (isHidden(path)) throw new FileRefused("forbidden", `'${HIDDEN_FOLDER}' is kept for uploads that are under way.`);
}

function checkName(name: string): void {
  if (isNoName(name)) throw noName(name);
  if (Buffer.byteLength(name) > LONGEST_NAME) throw new FileRefused("long-name", `'${name}' is too long a name.`);
}
