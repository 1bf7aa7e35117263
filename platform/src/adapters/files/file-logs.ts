/** Logs in files. Lines wait in memory for a moment and are written in the background or dropped; no program waits for them. */

import { rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { type Clock, realClock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { anyDisk, type Disk } from "../../ports/disk.ts";
import { Followers, readLines } from "../../ports/logs/followers.ts";
import { cutLines, isStreamName, type LogLine, type Logs, type NewLine, type Query } from "../../ports/logs/logs.ts";
import { type FileLimits, LOG_FILE, namesIn, StreamFiles } from "./stream-files.ts";
import { trimLogs } from "./trim-logs.ts";
import { dropped, faultOf, sizeOf, type WaitingLines, withNote } from "./waiting-lines.ts";

export interface LogLimits extends FileLimits {
  /** How many characters may wait for the disk, for one stream and for all together. Further lines are dropped. */
  waitingOfStream: number;
  waitingOfAll: number;
  /**
   * How many bytes all streams together may have on disk. Beyond it the oldest files are removed, first those of the owner with the most.
   */
  total: number;
}

const STANDARD: LogLimits = {
  fileBytes: 10 * 1024 * 1024,
  files: 5,
  waitingOfStream: 1024 * 1024,
  waitingOfAll: 32 * 1024 * 1024,
  total: 4 * 1024 ** 3,
};

/** The total is checked again after this fraction of it was written. */
const LOOKS = 32;

/** How many streams are written at the same time. */
const WRITERS = 4;

class Stream {
  readonly name: string;
  waiting: WaitingLines[] = [];
  /** Characters that wait or are being written. */
  size = 0;
  files: Promise<StreamFiles> | undefined;
  /** The write that is under way, and the one after it. */
  writing: Promise<void> | undefined;
  next: PromiseWithResolvers<void> | undefined;
  /** Why the last write failed. */
  fault: string | undefined;

  constructor(name: string) {
    this.name = name;
  }

  get isIdle(): boolean {
    return this.waiting.length === 0 && !this.writing;
  }

  /** Resolves when every line appended so far is on disk or lost. */
  async settled(): Promise<void> {
    await Promise.all([this.writing, this.next?.promise]);
  }
}

export class FileLogs implements Logs {
  readonly #folder: string;
  readonly #limits: LogLimits;
  readonly #failed: (error: unknown) => void;
  readonly #streams = new Map<string, Stream>();
  readonly #followers: Followers;
  readonly #disk: Disk;
  readonly #due = new Set<Stream>();
  #size = 0;
  #writers = 0;
  /** Bytes written since the total was last checked. */
  #written = 0;
  readonly #removing = new OneAtATime();
  #isClosed = false;

  constructor(
    folder: string,
    parts: { failed: (error: unknown) => void; limits?: Partial<LogLimits>; disk?: Disk; clock?: Clock },
  ) {
    this.#followers = new Followers(parts.clock ?? realClock);
    this.#disk = parts.disk ?? anyDisk;
    this.#folder = folder;
    this.#limits = { ...STANDARD, ...parts.limits };
    this.#failed = parts.failed;
  }

  append(name: string, lines: readonly NewLine[], position?: string): void {
    checkName(name);
    if (this.#isClosed) return;
    const stream = this.#streamOf(name);
    const isTooMuch = stream.size >= this.#limits.waitingOfStream || this.#size >= this.#limits.waitingOfAll;
    if (isTooMuch) this.#drop(stream, { lines: [...lines], at: position });
    else this.#wait(stream, { lines: cutLines(lines), at: position });
    this.#schedule(stream);
  }

  async position(stream: string): Promise<string | undefined> {
    return (await this.#kept(stream))?.position;
  }

  async read(stream: string, query: Query): Promise<LogLine[]> {
    const kept = await this.#kept(stream);
    return kept ? readLines(kept, query) : [];
  }

  follow(stream: string, query: Query, signal: AbortSignal): AsyncIterable<LogLine[]> {
    checkName(stream);
    return this.#followers.follow(stream, query, signal, async () => (await this.#kept(stream))!);
  }

  async has(stream: string): Promise<boolean> {
    return (await this.#kept(stream))?.isEmpty === false;
  }

  /** A folder is changed when a file is begun in it, which is enough to know which streams are new. */
  async newest(below: string, most: number): Promise<string[]> {
    checkName(below.slice(0, -1));
    const own = [...this.#streams.values()].filter(({ name }) => name.startsWith(below));
    await Promise.all(own.map((stream) => stream.settled()));
    const folder = this.#folderOf(below);
    const found = await Promise.all(
      (await namesIn(folder)).filter(isStreamName).map(async (name) => {
        const { mtimeMs = 0 } = (await stat(join(folder, name)).catch(() => undefined)) ?? {};
        return { name, mtimeMs };
      }),
    );
    const newestFirst = found.sort((a, b) => b.mtimeMs - a.mtimeMs).slice(0, most);
    return newestFirst.map(({ name }) => name);
  }

  async remove(path: string): Promise<void> {
    const isBelow = path.endsWith("/");
    checkName(isBelow ? path.slice(0, -1) : path);
    const isGone = (name: string) => (isBelow ? name.startsWith(path) : name === path);
    const gone = [...this.#streams.values()].filter(({ name }) => isGone(name));
    for (const stream of gone) this.#forget(stream);
    this.#followers.end(isGone);
    // A stream that begins under such a name meanwhile waits until the old one is gone.
    await this.#removing.run(async () => {
      await Promise.all(gone.map(({ writing }) => writing));
      const folder = this.#folderOf(path);
      if (isBelow) await removeBelow(folder);
      else await (await StreamFiles.open(folder, this.#limits)).remove();
      await this.#removeEmpty(folder);
    });
  }

  async expire(below: string, before: number): Promise<void> {
    await Promise.all([...this.#streams.values()].map((stream) => stream.settled()));
    for (const name of await this.#namesBelow(this.#folder)) {
      const kept = await this.#kept(name);
      if (kept && kept.newestTs < before && name.startsWith(below)) await this.remove(name);
      else this.#forgetIdle(name);
    }
    await this.#trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#followers.end(() => true);
    const streams = [...this.#streams.values()];
    for (const stream of streams) if (stream.waiting.length > 0) this.#schedule(stream);
    await Promise.all(streams.map((stream) => stream.settled()));
    await this.#removing.over;
  }

  #streamOf(name: string): Stream {
    const stream = this.#streams.get(name) ?? new Stream(name);
    this.#streams.set(name, stream);
    return stream;
  }

  /** The stream's files, including every line appended so far that could be written. */
  async #kept(name: string): Promise<StreamFiles | undefined> {
    if (!isStreamName(name)) return undefined;
    const stream = this.#streamOf(name);
    await stream.settled();
    const files = await this.#files(stream);
    if (files.isEmpty) this.#forgetIdle(name);
    return files;
  }

  #files(stream: Stream): Promise<StreamFiles> {
    const opening =
      stream.files ?? this.#removing.over.then(() => StreamFiles.open(this.#folderOf(stream.name), this.#limits));
    stream.files = opening;
    opening.catch(() => {
      if (stream.files === opening) stream.files = undefined;
    });
    return opening;
  }

  #wait(stream: Stream, waiting: WaitingLines): void {
    stream.waiting.push(waiting);
    this.#count(stream, sizeOf(waiting));
  }

  #drop(stream: Stream, waiting: WaitingLines): void {
    const last = stream.waiting.at(-1);
    if (last?.dropped) stream.waiting[stream.waiting.length - 1] = dropped([last, waiting]);
    else this.#wait(stream, dropped([waiting]));
  }

  #count(stream: Stream, size: number): void {
    stream.size += size;
    this.#size += size;
  }

  #schedule(stream: Stream): void {
    stream.next ??= Promise.withResolvers();
    this.#due.add(stream);
    if (this.#writers < WRITERS) floating(this.#write(), this.#failed);
  }

  /** Lines that arrive while a stream is being written form its next write. */
  async #write(): Promise<void> {
    this.#writers++;
    for (const stream of this.#due) {
      if (stream.writing) continue;
      this.#due.delete(stream);
      stream.writing = this.#writeOut(stream);
      await stream.writing;
      stream.writing = undefined;
    }
    this.#writers--;
  }

  async #writeOut(stream: Stream): Promise<void> {
    const { waiting, size, next } = stream;
    stream.waiting = [];
    stream.next = undefined;
    try {
      // The last part of the disk is reserved, and not for log lines.
      if (this.#disk.refusal !== undefined) throw Object.assign(new Error(this.#disk.refusal), { code: "ENOSPC" });
      const files = await this.#files(stream);
      const lines = await files.write(waiting.map((one) => withNote(one, stream.fault)));
      stream.fault = undefined;
      this.#followers.tell(stream.name, lines);
      this.#written += size;
    } catch (error) {
      this.#lose(stream, waiting, error);
    }
    this.#count(stream, -size);
    next?.resolve();
    if (this.#written > this.#limits.total / LOOKS) await this.#trim().catch(this.#failed);
  }

  async #trim(): Promise<void> {
    this.#written = 0;
    await trimLogs(this.#folder, this.#limits.total);
  }

  /** A lost write is not retried by itself. The next line will show whether the disk accepts it. */
  #lose(stream: Stream, lost: WaitingLines[], error: unknown): void {
    if (stream.fault === undefined) this.#failed(error);
    stream.fault = faultOf(error);
    stream.files = undefined;
    if (this.#streams.get(stream.name) !== stream) return;
    const note = dropped(lost);
    stream.waiting.unshift(note);
    this.#count(stream, sizeOf(note));
  }

  #forget(stream: Stream): void {
    this.#streams.delete(stream.name);
    this.#due.delete(stream);
    this.#count(stream, -stream.waiting.reduce((sum, one) => sum + sizeOf(one), 0));
    stream.waiting = [];
    stream.next?.resolve();
    stream.next = undefined;
  }

  #forgetIdle(name: string): void {
    if (this.#streams.get(name)?.isIdle) this.#streams.delete(name);
  }

  async #namesBelow(folder: string): Promise<string[]> {
    const entries = await namesIn(folder);
    const isStream = entries.some((name) => LOG_FILE.test(name));
    const names = isStream ? [folder.slice(this.#folder.length + 1).replaceAll(sep, "/")] : [];
    for (const entry of entries) if (isStreamName(entry)) names.push(...(await this.#namesBelow(join(folder, entry))));
    return names;
  }

  #folderOf(path: string): string {
    return join(this.#folder, path.replace(/\/$/, ""));
  }

  /** Removes this folder and its parents as long as they are empty. */
  async #removeEmpty(folder: string): Promise<void> {
    for (let empty = folder; empty.length > this.#folder.length; empty = dirname(empty)) {
      const fault = await rmdir(empty).catch((error: NodeJS.ErrnoException) => error.code);
      if (fault !== undefined && fault !== "ENOENT") return;
    }
  }
}

function checkName(name: string): void {
  if (!isStreamName(name)) throw new Error(`'${name}' cannot name a log stream`);
}

/** Removes the streams below the folder, but not the folder's own stream. */
async function removeBelow(folder: string): Promise<void> {
  for (const name of await namesIn(folder))
    if (!LOG_FILE.test(name)) await rm(join(folder, name), { recursive: true, force: true });
}
