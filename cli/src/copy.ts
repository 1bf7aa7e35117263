/** Copies files between this machine and a network volume: several at once, skipping equal ones, going on with broken downloads. */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat, utimes } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseTimestamp } from "@millrace/platform/kernel/clock.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import type { ApiClient } from "./api.ts";
import { EXIT, Failure, wrongUse } from "./failure.ts";
import { type Shell, writeLine } from "./shell.ts";
import {
  type FileFact,
  fileAt,
  isEqual,
  localFact,
  localFiles,
  type RemotePath,
  remoteFiles,
  withVolume,
} from "./volume-paths.ts";

const CONTENT = "/v2/network-volumes/{id}/files/content";
const DELETE_FILES = { method: "DELETE", path: "/v2/network-volumes/{id}/files" } as const;

/** More at once would only share the same disk and line. */
const AT_ONCE = 4;

export interface CopyOptions {
  recursive?: boolean;
  /** Copies what is equal too. */
  force?: boolean;
  /** Deletes in the target what the source does not have. */
  delete?: boolean;
}

export interface Copied {
  copied: number;
  skipped: number;
  deleted: number;
  bytes: number;
}

/** Says how far a copy is, on a terminal. */
export class Progress {
  readonly #shell: Shell;
  readonly #startMs: number;
  #shownMs = 0;
  bytes = 0;

  constructor(shell: Shell) {
    this.#shell = shell;
    this.#startMs = shell.clock.monotonic();
  }

  count(bytes: number, name: string): void {
    this.bytes += bytes;
    const { stderr, clock } = this.#shell;
    const now = clock.monotonic();
    if (!stderr.isTTY || now - this.#shownMs < 100) return;
    this.#shownMs = now;
    const rate = this.bytes / Math.max(0.1, (now - this.#startMs) / 1000);
    stderr.write(`\r\x1b[K${sizeText(this.bytes)}  ${sizeText(rate)}/s  ${name}`.slice(0, stderr.columns));
  }

  done(name: string): void {
    const { stderr } = this.#shell;
    if (stderr.isTTY) stderr.write("\r\x1b[K");
    if (stderr.isTTY) writeLine(stderr, name);
  }
}

export function sizeText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

export async function upload(
  { api, progress }: Copying,
  source: string,
  target: RemotePath,
  options: CopyOptions,
): Promise<Copied> {
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw wrongUse(`${source} cannot be read (${error.code})`);
  });
  return withVolume(api, target.volume, async (id) => {
    const put = (file: string, path: string) => putFile({ api, progress }, id, file, path);
    if (!found.isDirectory()) {
      const isFolder = target.isFolder || (await fileAt(api, id, target.path))?.kind === "FOLDER";
      const path = isFolder ? posix.join(target.path, basename(source)) : target.path;
      await put(source, path);
      return { copied: 1, skipped: 0, deleted: 0, bytes: progress.bytes };
    }
    if (!options.recursive) throw wrongUse(`${source} is a folder: add -r, or use 'volumes sync'`);
    const there = await known(
      remoteFiles(api, id, target.path),
      target.path === "" ? true : await fileAt(api, id, target.path),
    );
    const copied = await copyAll(localFiles(source), there, options, (file) =>
      put(join(source, file.name), posix.join(target.path, file.name)),
    );
    const extra = options.delete ? [...there.keys()].filter((name) => !copied.names.has(name)) : [];
    for (const name of extra)
      await api.call(DELETE_FILES, { params: { id }, query: { path: posix.join(target.path, name) } });
    return { ...copied.counts, deleted: extra.length, bytes: progress.bytes };
  });
}

export async function download(
  { api, progress }: Copying,
  source: RemotePath,
  target: string,
  options: CopyOptions,
): Promise<Copied> {
  return withVolume(api, source.volume, async (id) => {
    const found = source.path === "" ? undefined : await fileAt(api, id, source.path);
    if (source.path !== "" && !found)
      throw new Failure(`there is nothing at ${source.volume}:${source.path}`, EXIT.notFound);
    const get = (file: FileFact, path: string, to: string) => getFile({ api, progress }, id, file, path, to);
    if (found?.kind === "FILE") {
      const isFolder = await stat(target).then(
        (one) => one.isDirectory(),
        () => target.endsWith("/"),
      );
      const fact = { ...found, modifiedMs: parseTimestamp(found.modifiedAt) ?? 0 };
      const to = isFolder ? join(target, found.name) : target;
      if (!options.force && isEqual(fact, await localFact(to).catch(() => undefined)))
        return { copied: 0, skipped: 1, deleted: 0, bytes: 0 };
      await get(fact, source.path, to);
      return { copied: 1, skipped: 0, deleted: 0, bytes: progress.bytes };
    }
    if (!options.recursive)
      throw wrongUse(`${source.volume}:${source.path} is a folder: add -r, or use 'volumes sync'`);
    await mkdir(target, { recursive: true });
    const there = await known(localFiles(target), true);
    const copied = await copyAll(remoteFiles(api, id, source.path), there, options, (file) =>
      get(file, posix.join(source.path, file.name), join(target, file.name)),
    );
    const extra = options.delete ? [...there.keys()].filter((name) => !copied.names.has(name)) : [];
    for (const name of extra) await rm(join(target, name));
    return { ...copied.counts, deleted: extra.length, bytes: progress.bytes };
  });
}

interface Copying {
  api: ApiClient;
  progress: Progress;
}

/** What the target has, by name. A target that is not there yet has nothing. */
async function known(files: AsyncIterable<FileFact>, isThere: unknown): Promise<Map<string, FileFact>> {
  const all = new Map<string, FileFact>();
  if (isThere) for await (const file of files) all.set(file.name, file);
  return all;
}

async function copyAll(
  files: AsyncIterable<FileFact>,
  there: ReadonlyMap<string, FileFact>,
  { force }: CopyOptions,
  copy: (file: FileFact) => Promise<void>,
): Promise<{ counts: Pick<Copied, "copied" | "skipped">; names: Set<string> }> {
  const counts = { copied: 0, skipped: 0 };
  const names = new Set<string>();
  const running = new Set<Promise<void>>();
  for await (const file of files) {
    names.add(file.name);
    if (!force && isEqual(file, there.get(file.name))) {
      counts.skipped += 1;
      continue;
    }
    const one = copy(file).finally(() => running.delete(one));
    running.add(one);
    counts.copied += 1;
    if (running.size >= AT_ONCE) await Promise.race(running);
  }
  await Promise.all(running);
  return { counts, names };
}

async function putFile({ api, progress }: Copying, id: string, file: string, path: string): Promise<void> {
  const { size } = await stat(file);
  const body = createReadStream(file, size > 0 ? { end: size - 1 } : {});
  body.on("data", (part) => progress.count(part.length, path));
  const headers = { "content-length": size, "content-type": "application/octet-stream" };
  const { body: answer } = await api.send(requestPath(CONTENT, { params: { id }, query: { path } }), {
    ...{ method: "PUT", headers, body, silenceMs: 0 },
  });
  answer.resume();
  progress.done(path);
}

/** The part that has come is kept under another name, with the mark of its contents, and the next try goes on behind it. */
async function getFile(
  { api, progress }: Copying,
  id: string,
  { etag = "", modifiedMs }: Pick<FileFact, "etag" | "modifiedMs">,
  path: string,
  target: string,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const part = `${target}.${etag.replaceAll(/\W/g, "").slice(0, 32)}.part`;
  const had = await stat(part).then(
    ({ size }) => size,
    () => 0,
  );
  const tag = etag.startsWith('"') ? etag : `"${etag}"`;
  const headers: Record<string, string> = had > 0 ? { range: `bytes=${had}-`, "if-range": tag } : {};
  const answer = await api.send(requestPath(CONTENT, { params: { id }, query: { path } }), { headers });
  const goesOn = answer.status === 206;
  const body: Readable = answer.body;
  body.on("data", (bytes: Buffer) => progress.count(bytes.length, path));
  await pipeline(body, createWriteStream(part, { flags: goesOn ? "a" : "w" }));
  const length = Number(answer.headers["content-length"]);
  const expected = length + (goesOn ? had : 0);
  if ((await stat(part)).size !== expected)
    throw new Failure(`${path} broke off; run the same command again to continue`);
  await rename(part, target);
  await utimes(target, modifiedMs / 1000, modifiedMs / 1000);
  progress.done(path);
}
