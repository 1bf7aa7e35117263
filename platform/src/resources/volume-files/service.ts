/** The rules of files on network volumes: whose they are, which paths there are, and how the file system's refusals are told. */
import type { IncomingBytes, OutgoingBytes } from "../../kernel/bytes.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Beginning } from "../../kernel/operation.ts";
import { type Meaning, type Problem, problem } from "../../kernel/problem.ts";
import {
  etagOf,
  type FileFacts,
  type FilePath,
  type FileRefusal,
  FileRefused,
  type Files,
  isNoName,
  type Removed,
} from "../../ports/files/files.ts";
import { forgetMetadata } from "../../ports/files/metadata.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";
import { headersOf } from "./file-types.ts";
import type { FileLinks } from "./links.ts";
import { LONGEST_NAME, LONGEST_PATH } from "./model.ts";
import { filesOn, type VolumeStorage } from "./storage.ts";

export interface VolumeFileParts {
  volumes: Pick<NetworkVolumeService, "get">;
  storage: VolumeStorage;
  fileLinks: FileLinks;
}

export interface FileItem {
  path: FilePath;
  facts: FileFacts;
}

/** Of one call. More would hold up whoever waits for the answer. */
const REMOVED_AT_MOST = 10_000;

export class VolumeFileService {
  readonly #parts: VolumeFileParts;

  constructor(parts: VolumeFileParts) {
    this.#parts = parts;
  }

  /** What a folder holds after a name, and the name after which the next page begins. */
  async list(
    caller: Caller,
    id: string,
    { path = "", prefix, after, limit }: { path?: string; prefix?: string; after: string | undefined; limit: number },
  ): Promise<{ items: FileItem[]; next: string | undefined }> {
    const folder = namesIn("path", path);
    return this.#on(caller, id, async (files) => {
      const found = await files.list(folder, { after, startsWith: prefix, most: limit + 1 });
      if (!found) throw problem("not-found", "There is no such folder on the volume.");
      const shown = found.slice(0, limit);
      const items: FileItem[] = [];
      for (const { name } of shown) {
        const facts = await files.find([...folder, name]);
        // It went while it was listed.
        if (facts) items.push({ path: [...folder, name], facts });
      }
      const last = found.length > limit ? shown.at(-1) : undefined;
      return { items, next: last && (last.kind === "folder" ? `${last.name}/` : last.name) };
    });
  }

  async read(
    caller: Caller,
    id: string,
    { path, preview = false }: { path: string; preview?: boolean },
  ): Promise<OutgoingBytes> {
    const names = namesIn("path", path);
    return this.#on(caller, id, async (files) => {
      const opened = await files.open(names);
      if (!opened) throw await noFile(files, names);
      const { size, modifiedAt } = opened.facts;
      return {
        ...{ size, modifiedAt, etag: etagOf(opened.facts), headers: headersOf(names.at(-1)!, preview) },
        read: (range) => opened.read(range),
        [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
      };
    });
  }

  /** For a file that is there now. */
  async link(
    caller: Caller,
    id: string,
    { path, preview = false }: { path: string; preview?: boolean },
  ): Promise<ReturnType<FileLinks["make"]>> {
    const names = namesIn("path", path);
    return this.#on(caller, id, async (files) => {
      if ((await files.find(names))?.kind !== "file") throw await noFile(files, names);
      return this.#parts.fileLinks.make(caller, { volume: id, path, preview });
    });
  }

  /** Says as early as possible what will not do: nobody likes to send gigabytes in vain. */
  async write(
    caller: Caller,
    id: string,
    { path, ifAbsent = false }: { path: string; ifAbsent?: boolean },
    { incoming, begin }: Beginning & { incoming: IncomingBytes },
  ): Promise<FileItem> {
    const names = namesIn("path", path);
    return this.#on(caller, id, async (files) => {
      const there = await files.find(names);
      if (there?.kind === "folder") throw problem("name-taken", `A folder is at '${path}'.`);
      if (there && ifAbsent) throw problem("name-taken", `A file is at '${path}' already.`);
      await using draft = await files.draft(incoming.length);
      await begin();
      for await (const chunk of incoming.read()) await draft.write(chunk);
      return { path: names, facts: await draft.keep(names, { ifAbsent }) };
    });
  }

  makeFolder(caller: Caller, id: string, path: string, begin: Beginning["begin"]): Promise<FileItem> {
    const names = namesIn("path", path);
    return this.#on(caller, id, async (files) => {
      const there = await files.find(names);
      if (there?.kind === "file") throw problem("name-taken", `A file is at '${path}'.`);
      await begin();
      return { path: names, facts: await files.makeFolder(names) };
    });
  }

  move(
    caller: Caller,
    id: string,
    { from, to }: { from: string; to: string },
    begin: Beginning["begin"],
  ): Promise<FileItem> {
    const [source, target] = [namesIn("from", from), namesIn("to", to)];
    return this.#on(caller, id, async (files) => {
      if (!(await files.find(source))) throw nothingThere();
      await begin();
      const facts = await files.move(source, target);
      // It went in this very moment.
      if (!facts) throw nothingThere();
      await forgetMetadata(files, source);
      return { path: target, facts };
    });
  }

  remove(
    caller: Caller,
    id: string,
    { path, recursive = false }: { path: string; recursive?: boolean },
    begin: Beginning["begin"],
  ): Promise<Removed> {
    const names = namesIn("path", path);
    return this.#on(caller, id, async (files) => {
      const facts = await files.find(names);
      if (!facts) throw nothingThere();
      await begin();
      if (facts.kind === "folder" && recursive) return files.removeAll(names, REMOVED_AT_MOST);
      await files.remove(names);
      const left = facts.kind === "folder" ? await files.find(names) : undefined;
      if (left) throw problem("wrong-state", "The folder holds something: delete it with recursive=true.");
      await forgetMetadata(files, names);
      return { count: 1, isWhole: true };
    });
  }

  /** On the files of a volume of the caller's account, with refusals in words of every surface. */
  async #on<T>(caller: Caller, id: string, work: (files: Files) => Promise<T>): Promise<T> {
    const { doc } = await this.#parts.volumes.get(caller, id);
    const files = await filesOn(this.#parts.storage, doc.machine, id);
    if ("away" in files) throw problem("unavailable", files.away);
    try {
      return await work(files);
    } catch (error) {
      throw error instanceof FileRefused ? problem(MEANINGS[error.reason], error.message, { cause: error }) : error;
    }
  }
}

const MEANINGS: Record<FileRefusal, Meaning> = {
  taken: "name-taken",
  "no-folder": "rule-broken",
  full: "no-room",
  "long-name": "rule-broken",
  forbidden: "rule-broken",
};

const nothingThere = () => problem("not-found", "There is neither a file nor a folder at this path.");

async function noFile(files: Files, names: FilePath): Promise<Problem> {
  const isFolder = (await files.find(names))?.kind === "folder";
  return problem("not-found", isFolder ? "A folder is at this path, and no file." : "There is no file at this path.");
}

/** The names of a path, as S3 takes them too. */
function namesIn(field: string, path: string): string[] {
  if (path === "") return [];
  const names = path.split("/");
  if (Buffer.byteLength(path) > LONGEST_PATH) throw wrong(field, `has more than ${LONGEST_PATH} bytes`);
  if (names.some(isNoName)) throw wrong(field, "has a part between two slashes that is empty, '.' or '..'");
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME))
    throw wrong(field, `has a part of more than ${LONGEST_NAME} bytes`);
  return names;
}

const wrong = (field: string, why: string) =>
  problem("invalid", "Request validation failed.", { errors: [`$.${field}: ${why}`] });
