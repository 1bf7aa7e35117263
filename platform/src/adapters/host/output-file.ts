/** Reads a program's output as `keep.sh` keeps it: whole lines, from any position, across restarts. */

import { fstatSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { LONGEST_LINE } from "../../ports/compute/compute.ts";

/** How many output files of a program are kept: the current one and those before it. `keep.sh` uses the same number. */
const KEPT_SEGMENTS = 3;
const SMALLEST_SEGMENT = 64 * 1024;

/** How many bytes of disk output may use, for one program and for all together. */
export interface OutputLimits {
  program: number;
  machine: number;
}

/** How much of the machine's limit a program with segments of this size may use. */
export const shareOf = (segment: number) => KEPT_SEGMENTS * segment;

/**
 * The segment size for one more program. When the machine's limit runs short, each program gets less than the one before, so that some is
 * always left for the next.
 */
export function segmentWithin({ program, machine }: OutputLimits, promised: number): number {
  const left = Math.max(0, machine - promised);
  return Math.max(SMALLEST_SEGMENT, Math.floor(Math.min(program, left / 8) / KEPT_SEGMENTS));
}

/** The segment size for one more program beside these, and beside `others` whose segments are not known yet. */
export function segmentBeside(limits: OutputLimits, segments: readonly number[], others: number): number {
  return segmentWithin(
    limits,
    segments.reduce((sum, segment) => sum + shareOf(segment), others * limits.program),
  );
}

/**
 * Positions of earlier releases have a number before the offset, mostly 0. A position with another number starts again from the beginning.
 */
export function parsePosition(text: string | undefined): number {
  const [before, offset] = (text ?? "0").split(":").map(Number);
  return (offset === undefined ? before : before === 0 ? offset : 0) || 0;
}

const LINE_END = 10;
/** How much is read at once: a few lines of the maximum length. */
const READ_BYTES = 4 * LONGEST_LINE;

/** How many lines are cut at once. A read can hold more short lines than can be handled without a pause. */
const MOST_LINES = 1024;

/** The lines and the number of bytes that they took. */
export interface Lines {
  lines: string[];
  bytes: number;
}

/**
 * Cuts bytes into lines. An incomplete last line waits for more, unless the program has ended or the line is too long. A line that is too
 * long is cut between two characters.
 */
export function cutLines(bytes: Buffer, ended: boolean): Lines {
  const lines: string[] = [];
  let from = 0;
  while (from < bytes.length && lines.length < MOST_LINES) {
    const end = bytes.indexOf(LINE_END, from);
    const to = end < 0 ? bytes.length : end;
    if (to - from > LONGEST_LINE) {
      const piece = wholeCharacters(bytes.subarray(from, from + LONGEST_LINE));
      lines.push(piece.toString());
      from += piece.length;
    } else if (end >= 0) {
      lines.push(bytes.toString("utf8", from, to));
      from = to + 1;
    } else if (ended) {
      lines.push(bytes.toString("utf8", from));
      from = bytes.length;
    } else break;
  }
  return { lines, bytes: from };
}

/** Removes an incomplete character from the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  const decoder = new StringDecoder("utf8");
  const whole = Buffer.byteLength(decoder.write(bytes));
  // Bytes that are not UTF-8 grow when they are decoded, so they are cut anywhere.
  return whole > 0 && whole < bytes.length ? bytes.subarray(0, whole) : bytes;
}

/** The lines that were read, and how many bytes before them were already removed. */
export interface Read {
  lines: string[];
  lost: number;
}

/** One reader of a program's output, which reads the segments like one file. */
export class OutputReader implements AsyncDisposable {
  readonly #folder: string;
  /** The size of every segment but the last. */
  readonly #segment: number;
  #open: { number: number; handle: FileHandle } | undefined;
  #offset: number;

  constructor(folder: string, segment: number, offset: number) {
    this.#folder = folder;
    this.#segment = segment;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The next lines, or none if there are none yet. `ended` says that nothing more will be written. */
  async read(ended: boolean): Promise<Read> {
    const lost = await this.#skipLost();
    const bytes = await this.#bytes();
    const { lines, bytes: taken } = cutLines(bytes, ended && bytes.length < READ_BYTES);
    this.#offset += taken;
    return { lines, lost };
  }

  /** Skips to the oldest segment that is left, when the reader was so slow that its segment has been removed. */
  async #skipLost(): Promise<number> {
    if (await this.#at(this.#offset)) return 0;
    const numbers = segmentsIn(await readdir(this.#folder)).filter((number) => number * this.#segment > this.#offset);
    if (numbers.length === 0) return 0;
    const before = this.#offset;
    this.#offset = Math.min(...numbers) * this.#segment;
    return this.#offset - before;
  }

  async #bytes(): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let filled = 0;
    while (filled < READ_BYTES) {
      const piece = await this.#piece(this.#offset + filled, READ_BYTES - filled);
      if (piece.length === 0) break;
      pieces.push(piece);
      filled += piece.length;
    }
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
  }

  /** The part of the requested bytes that lies in one segment. */
  async #piece(offset: number, wanted: number): Promise<Buffer> {
    const handle = await this.#at(offset);
    if (!handle) return NOTHING;
    const within = this.#within(offset);
    // At once: most programs write nothing, and the thread pool would take ten times as long to say so.
    const length = Math.min(wanted, fstatSync(handle.fd).size - within);
    if (length <= 0) return NOTHING;
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, within);
    return buffer.subarray(0, bytesRead);
  }

  #within = (offset: number) => (offset < this.#segment ? offset : offset % this.#segment);

  async #at(offset: number): Promise<FileHandle | undefined> {
    const number = offset < this.#segment ? 0 : Math.floor(offset / this.#segment);
    if (this.#open?.number === number) return this.#open.handle;
    const handle = await open(join(this.#folder, segmentName(number)), "r").catch(ifMissing);
    if (!handle) return undefined;
    await this.#open?.handle.close();
    this.#open = { number, handle };
    return handle;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open?.handle.close();
  }
}

const NOTHING = Buffer.alloc(0);
const OUTPUT = "output";
const SEGMENT_NAME = /^output(?:\.(\d+))?$/;

const segmentName = (number: number) => (number === 0 ? OUTPUT : `${OUTPUT}.${number}`);

export const isSegment = (name: string) => SEGMENT_NAME.test(name);

const segmentsIn = (names: readonly string[]) =>
  names.flatMap((name) => {
    const found = SEGMENT_NAME.exec(name);
    return found ? [Number(found[1] ?? 0)] : [];
  });

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
