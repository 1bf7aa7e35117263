/** Reads what a program appends to its output: whole lines, from any position, over restarts and over a file that begins anew. */

import { type FileHandle, open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { LONGEST_LINE } from "../compute.ts";

/** A place in the output: how often the file was begun anew, and the offset in it. */
export interface Position {
  generation: number;
  offset: number;
}

export function parsePosition(text: string | undefined): Position {
  const [generation, offset] = (text ?? "0:0").split(":").map(Number);
  return { generation: generation || 0, offset: offset || 0 };
}

export const formatPosition = ({ generation, offset }: Position) => `${generation}:${offset}`;

const LINE_END = 10;
/** What is read at once: a few of the longest lines. */
const READ_BYTES = 4 * LONGEST_LINE;

/** Lines read, and how many bytes they took. */
export interface Lines {
  lines: string[];
  bytes: number;
}

/**
 * Cuts bytes into lines. What follows the last line end waits for more, unless the program has ended or it is too long to wait for; it is
 * then cut between two characters.
 */
export function cutLines(bytes: Buffer, ended: boolean): Lines {
  const lines: string[] = [];
  let from = 0;
  while (from < bytes.length) {
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

/** Without a character at the end of which the rest is missing. */
function wholeCharacters(bytes: Buffer): Buffer {
  const decoder = new StringDecoder("utf8");
  const whole = Buffer.byteLength(decoder.write(bytes));
  // Bytes that are no text grow when they are decoded: they are cut anywhere.
  return whole > 0 && whole < bytes.length ? bytes.subarray(0, whole) : bytes;
}

/** One reader of an output file. */
export class OutputReader implements AsyncDisposable {
  readonly #file: string;
  #handle: FileHandle | undefined;
  #offset: number;

  constructor(file: string, offset: number) {
    this.#file = file;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The next lines, none when there are none yet. `ended` says that nothing will be added any more. */
  async read(ended: boolean): Promise<string[]> {
    this.#handle ??= await open(this.#file, "r");
    const { size } = await this.#handle.stat();
    // A program may cut its own output short; what it writes then stands at the beginning.
    if (size < this.#offset) this.#offset = 0;
    const wanted = Math.min(size - this.#offset, READ_BYTES);
    if (wanted === 0) return [];
    const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(wanted), 0, wanted, this.#offset);
    const { lines, bytes } = cutLines(buffer.subarray(0, bytesRead), ended && this.#offset + bytesRead === size);
    this.#offset += bytes;
    return lines;
  }

  async isAtEnd(): Promise<boolean> {
    return (await this.#handle?.stat())?.size === this.#offset;
  }

  /** The file was begun anew. */
  restart(): void {
    this.#offset = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }
}
