/** The files of one log stream: appended at the end, rotated by size, read from any point. */
import { appendFile, mkdir, readdir, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type { KeptLines } from "../../ports/logs/followers.ts";
import type { LogLine, LogSource, NewLine } from "../../ports/logs/logs.ts";
import { firstRecord, offsetNear, readBlock, recordsBack } from "./log-file.ts";
import { type LogRecord, lastSequence, numberedLines, recordText } from "./log-record.ts";

export interface FileLimits {
  /** A file that would grow beyond this is closed, and the next one is begun. */
  fileBytes: number;
  /** How many files are kept. The oldest is removed when there are more. */
  files: number;
}

export const LOG_FILE = /^(\d{8})\.log$/;

export class StreamFiles implements KeptLines {
  readonly #folder: string;
  readonly #limits: FileLimits;
  /** The numbers of the existing files, oldest first, with the first sequence of each. */
  #files: { number: number; first: number }[] = [];
  #size = 0;
  /** The last record may be torn. The next record then begins on a new line. */
  #mayBeTorn = false;
  last = 0;
  position: string | undefined;
  newestTs = Number.NEGATIVE_INFINITY;

  private constructor(folder: string, limits: FileLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  static async open(folder: string, limits: FileLimits): Promise<StreamFiles> {
    const files = new StreamFiles(folder, limits);
    await files.#load();
    return files;
  }

  get isEmpty(): boolean {
    return this.#files.length === 0;
  }

  /** Adds records and numbers their lines. After a failure the files must be opened again, since a part may have been written. */
  async write(added: readonly { lines: NewLine[]; at?: string }[]): Promise<LogLine[]> {
    const records = this.#numbered(added);
    const bytes = Buffer.from(`${this.#mayBeTorn ? "\n" : ""}${records.map(recordText).join("")}`);
    const isFull = this.#size > 0 && this.#size + bytes.length > this.#limits.fileBytes;
    if (isFull || this.isEmpty) await this.#begin(records[0]!.first);
    try {
      await appendFile(this.#newest(), bytes, { mode: 0o600 });
    } catch (error) {
      // A full disk may have taken part of the write, which no reader has seen.
      await truncate(this.#newest(), this.#size).catch(() => undefined);
      throw error;
    }
    this.#size += bytes.length;
    this.#mayBeTorn = false;
    const newest = this.#files.at(-1)!;
    newest.first = Math.min(newest.first, records[0]!.first);
    this.#note(records.at(-1)!);
    return records.flatMap(numberedLines);
  }

  async *after(sequence: number): AsyncGenerator<LogLine[]> {
    const files = [...this.#files];
    for (const [i, { number }] of files.entries()) {
      const next = files[i + 1];
      if (next && next.first <= sequence + 1) continue;
      yield* linesIn(this.#path(number), sequence);
    }
  }

  async tail(count: number, source: LogSource | undefined): Promise<number> {
    let left = count;
    let start = this.last;
    const take = (record: LogRecord) => {
      const found = numberedLines(record).filter((line) => source === undefined || line.source === source);
      const first = found.slice(-left)[0];
      left -= Math.min(left, found.length);
      if (first) start = first.sequence - 1;
      return left === 0;
    };
    for (const { number } of this.#files.toReversed()) {
      await recordsBack(this.#path(number), take);
      if (left === 0) break;
    }
    return start;
  }

  async remove(): Promise<void> {
    for (const { number } of this.#files) await rm(this.#path(number), { force: true });
    this.#files = [];
  }

  async #load(): Promise<void> {
    const numbers = (await namesIn(this.#folder)).flatMap((name) => Number(LOG_FILE.exec(name)?.[1] ?? []));
    this.#files = [];
    for (const number of numbers.toSorted((a, b) => a - b)) {
      const first = (await firstRecord(this.#path(number)))?.first;
      this.#files.push({ number, first: first ?? Number.POSITIVE_INFINITY });
    }
    this.#size = this.isEmpty ? 0 : (await stat(this.#newest())).size;
    this.#mayBeTorn = this.#size > 0;
    for (const { number } of this.#files.toReversed()) {
      let found = false;
      await recordsBack(this.#path(number), (record) => {
        this.#note(record);
        found = true;
        return true;
      });
      if (found) break;
    }
  }

  #note(record: LogRecord): void {
    this.last = lastSequence(record);
    this.position = record.at;
    this.newestTs = record.lines.at(-1)?.ts ?? this.newestTs;
  }

  /** Every record states the collector's position. The last record's position counts. */
  #numbered(added: readonly { lines: NewLine[]; at?: string }[]): LogRecord[] {
    let { last, position } = this;
    return added.map(({ lines, at }) => {
      const first = last + 1;
      last += lines.length;
      position = at ?? position;
      return { first, at: position, lines };
    });
  }

  async #begin(first: number): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    this.#files.push({ number: (this.#files.at(-1)?.number ?? 0) + 1, first });
    this.#size = 0;
    this.#mayBeTorn = false;
    for (const { number } of this.#files.splice(0, this.#files.length - this.#limits.files))
      await rm(this.#path(number), { force: true });
  }

  #newest(): string {
    return this.#path(this.#files.at(-1)!.number);
  }

  #path(number: number): string {
    return join(this.#folder, `${String(number).padStart(8, "0")}.log`);
  }
}

async function* linesIn(path: string, after: number): AsyncGenerator<LogLine[]> {
  let offset = await offsetNear(path, after + 1);
  for (let isLast = false; !isLast; ) {
    const block = await readBlock(path, offset);
    const lines = block.records
      .filter((record) => lastSequence(record) > after)
      .flatMap(numberedLines)
      .filter(({ sequence }) => sequence > after);
    if (lines.length > 0) yield lines;
    ({ next: offset, isLast } = block);
  }
}

export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
