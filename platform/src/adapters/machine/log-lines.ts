/** Assembles lines from the engine's log messages, with a position from which reading continues exactly. */
import { LONGEST_LINE } from "../../ports/compute/compute.ts";

/** One log message: a line with its line break, or a piece of a longer line without one. */
export interface Message {
  /** 1 is standard output, 2 standard error. */
  channel: number;
  /** Seconds and nanoseconds, `1700000000.000000001`. Pieces of one line may share it. */
  time: string;
  bytes: Buffer;
}

/**
 * The engine reads its log from a time on, and many messages may share that time. So a position holds the time of a message after which no
 * line was incomplete, the number of messages with that time up to there, and the number of lines given since.
 */
interface Position {
  time: string;
  messages: number;
  lines: number;
}

const NEW_LINE = 10;
/** Docker cuts a long line into pieces of this size. It drops the line break after the last piece, which is shorter. */
export const DOCKER_PIECE_BYTES = 16_384;

export class LogLines {
  readonly #pieceBytes: number;
  readonly #from: Position;
  #safe: Position;
  #time = "";
  #messages = 0;
  #toSkip: number;
  readonly #pending = new Map<number, Buffer>();

  /** `pieceBytes` is the size of all pieces of a line but the last, if the engine has a fixed size. */
  constructor(after: string | undefined, pieceBytes = Number.NaN) {
    this.#pieceBytes = pieceBytes;
    this.#from = after === undefined ? { time: "", messages: 0, lines: 0 } : parse(after);
    this.#safe = { ...this.#from, lines: 0 };
    this.#toSkip = this.#from.lines;
  }

  /** The time from which the engine has to read. */
  get since(): string | undefined {
    return this.#from.time || undefined;
  }

  /** The position after the lines given so far. */
  get at(): string {
    const { time, messages, lines } = this.#safe;
    return `${time}/${messages}/${lines}`;
  }

  /** The lines that this message completes, without those that were given before the starting position. */
  take(message: Message): string[] {
    if (message.time !== this.#time) {
      this.#time = message.time;
      this.#messages = 0;
    }
    this.#messages += 1;
    if (message.time === this.#from.time && this.#messages <= this.#from.messages) return [];
    return this.#given(this.#lines(message));
  }

  /** The incomplete lines that remain when the program has ended. */
  rest(): string[] {
    return this.#pending.size === 0 ? [] : this.#given([...this.#pending.values()].map(String));
  }

  #lines({ channel, bytes }: Message): string[] {
    const hasEnd = bytes.at(-1) === NEW_LINE;
    const isWhole = hasEnd || bytes.length < this.#pieceBytes;
    const piece = hasEnd ? bytes.subarray(0, -1) : bytes;
    const { pieces, left } = cut(Buffer.concat([this.#pending.get(channel) ?? Buffer.alloc(0), piece]));
    if (isWhole) this.#pending.delete(channel);
    else this.#pending.set(channel, left);
    return isWhole ? [...pieces, String(left)] : pieces;
  }

  #given(lines: string[]): string[] {
    const skipped = Math.min(this.#toSkip, lines.length);
    this.#toSkip -= skipped;
    if (this.#pending.size === 0) this.#safe = { time: this.#time, messages: this.#messages, lines: 0 };
    else this.#safe.lines += lines.length;
    return lines.slice(skipped);
  }
}

function parse(at: string): Position {
  const [time, messages, lines] = at.split("/");
  return { time: time!, messages: Number(messages), lines: Number(lines) };
}

/** Cuts a line into pieces of the maximum length, never inside a character, and a remainder. */
function cut(line: Buffer): { pieces: string[]; left: Buffer } {
  const pieces: string[] = [];
  let left = line;
  while (left.length > LONGEST_LINE) {
    const end = characterStart(left, LONGEST_LINE);
    pieces.push(String(left.subarray(0, end)));
    left = left.subarray(end);
  }
  return { pieces, left };
}

/** The first byte of the character at this offset. Continuation bytes start with the bits 10. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at;
  while (start > at - 4 && (bytes[start]! & 0xc0) === 0x80) start -= 1;
  return start;
}
