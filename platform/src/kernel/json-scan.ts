/** Checks JSON that arrives in pieces and is never whole in memory, and notes where members of its outermost object are. */
import type { Span } from "./json-spans.ts";

/** A member's value: its place in bytes and, if asked for, how it begins. */
export interface JsonMember {
  span: Span;
  /** At most as many of its first bytes as were asked for. */
  beginning?: Uint8Array;
}

export type Scanned = { fault: string } | { isObject: boolean; members: Map<string, JsonMember> };

interface Wanted {
  /** The members to note. A hostile text may have millions of others. */
  members: readonly string[];
  /** The members whose beginning is kept. */
  kept: readonly string[];
  /** How many bytes of each beginning are kept. */
  most: number;
}

/** The same limit as for bodies that are parsed at once. */
const DEEPEST = 1000;
/** A longer name cannot be one of the wanted names. */
const LONGEST_NAME = 256;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;

const isSpace = (byte: number) => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isDigit = (byte: number) => byte >= ZERO && byte <= NINE;
const isHex = (byte: number) => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), Buffer.from(word)]));

/** What a number has so far. It decides which bytes may follow. */
type NumberPart = "sign" | "zero" | "whole" | "point" | "fraction" | "exponent" | "exponentSign" | "exponentDigits";
const TAKES_DIGITS: ReadonlySet<NumberPart> = new Set(["whole", "fraction", "exponentDigits"]);
const ENDS_NUMBER: ReadonlySet<NumberPart> = new Set(["zero", "whole", "fraction", "exponentDigits"]);

function nextPart(part: NumberPart, byte: number): NumberPart | undefined {
  const digit = isDigit(byte);
  const isPoint = byte === 0x2e;
  const isE = (byte | 0x20) === 0x65;
  switch (part) {
    case "sign":
      return digit ? (byte === ZERO ? "zero" : "whole") : undefined;
    case "zero":
      return isPoint ? "point" : isE ? "exponent" : undefined;
    case "whole":
      return digit ? "whole" : isPoint ? "point" : isE ? "exponent" : undefined;
    case "point":
      return digit ? "fraction" : undefined;
    case "fraction":
      return digit ? "fraction" : isE ? "exponent" : undefined;
    case "exponent":
      return digit ? "exponentDigits" : byte === MINUS || byte === 0x2b ? "exponentSign" : undefined;
    case "exponentSign":
    case "exponentDigits":
      return digit ? "exponentDigits" : undefined;
  }
}

type State =
  | "value"
  | "valueOrEnd"
  | "nameOrEnd"
  | "name"
  | "colon"
  | "behindValue"
  | "string"
  | "escape"
  | "hex"
  | "number"
  | "literal"
  | "over";

export class JsonScan {
  readonly #wanted: ReadonlySet<string>;
  readonly #kept: ReadonlySet<string>;
  readonly #most: number;
  readonly #members = new Map<string, JsonMember>();
  /** The opening brackets and braces around the current place. */
  readonly #open: number[] = [];
  #state: State = "value";
  #fault: string | undefined;
  #isObject = false;
  /** How many bytes came in the pieces before this one. */
  #before = 0;
  #isName = false;
  #hexLeft = 0;
  #part: NumberPart = "sign";
  #literal: Buffer = Buffer.alloc(0);
  #literalAt = 0;
  /** The wanted member of the outermost object whose value is being read. */
  #name: string | undefined;
  #valueStart = 0;
  /** The bytes being kept of a name or a value. `from` is where they begin in the current piece. */
  #copy: { bytes: Uint8Array[]; length: number; most: number; from: number } | undefined;

  constructor({ members, kept, most }: Wanted) {
    this.#wanted = new Set(members);
    this.#kept = new Set(kept);
    this.#most = most;
  }

  /** Returns false once the text can no longer become valid JSON. */
  push(piece: Uint8Array): boolean {
    if (this.#fault !== undefined) return false;
    if (this.#copy) this.#copy.from = 0;
    for (let i = 0; i < piece.length && this.#fault === undefined; ) i = this.#step(piece, i);
    if (this.#copy) this.#keep(piece, piece.length);
    this.#before += piece.length;
    return this.#fault === undefined;
  }

  end(): Scanned {
    if (this.#fault === undefined && this.#state === "number" && this.#open.length === 0) this.#endNumber(0);
    if (this.#fault !== undefined) return { fault: this.#fault };
    if (this.#state !== "over") return { fault: "it ends too early" };
    return { isObject: this.#isObject, members: this.#members };
  }

  /** Reads from `i` on, and returns where to read next. */
  #step(piece: Uint8Array, i: number): number {
    const byte = piece[i]!;
    switch (this.#state) {
      case "string":
        return this.#inString(piece, i);
      case "escape":
        if (byte === 0x75) {
          this.#hexLeft = 4;
          this.#state = "hex";
        } else if (ESCAPED.has(byte)) this.#state = "string";
        else this.#fail(i);
        return i + 1;
      case "hex":
        if (!isHex(byte)) this.#fail(i);
        else if (--this.#hexLeft === 0) this.#state = "string";
        return i + 1;
      case "number":
        return this.#inNumber(piece, i);
      case "literal":
        if (byte !== this.#literal[this.#literalAt++]) this.#fail(i);
        else if (this.#literalAt === this.#literal.length) this.#endValue(piece, i + 1);
        return i + 1;
      default:
        if (!isSpace(byte)) this.#structure(piece, i, byte);
        return i + 1;
    }
  }

  #structure(piece: Uint8Array, i: number, byte: number): void {
    const isClosing = byte === CLOSING_BRACE || byte === CLOSING_BRACKET;
    if (isClosing && this.#mayClose(byte)) this.#close(piece, i);
    else if (this.#state === "value" || this.#state === "valueOrEnd") this.#beginValue(i, byte);
    else if (this.#state === "name" || this.#state === "nameOrEnd") this.#beginName(i, byte);
    else if (this.#state === "colon" && byte === COLON) this.#state = "value";
    else if (this.#state === "behindValue" && byte === COMMA) this.#state = this.#inObject ? "name" : "value";
    else this.#fail(i);
  }

  get #inObject(): boolean {
    return this.#open.at(-1) === OPENING_BRACE;
  }

  #mayClose(byte: number): boolean {
    if (byte !== (this.#inObject ? CLOSING_BRACE : CLOSING_BRACKET)) return false;
    return this.#state === "behindValue" || this.#state === "valueOrEnd" || this.#state === "nameOrEnd";
  }

  #beginName(i: number, byte: number): void {
    if (byte !== QUOTE) this.#fail(i);
    this.#isName = true;
    this.#state = "string";
    if (this.#open.length === 1) this.#copy = { bytes: [], length: 0, most: LONGEST_NAME, from: i };
  }

  #beginValue(i: number, byte: number): void {
    if (this.#open.length === 1 && this.#name !== undefined) {
      this.#valueStart = this.#before + i;
      if (this.#kept.has(this.#name)) this.#copy = { bytes: [], length: 0, most: this.#most, from: i };
    }
    const literal = LITERALS.get(byte);
    if (byte === QUOTE) {
      this.#isName = false;
      this.#state = "string";
    } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) this.#enter(i, byte);
    else if (byte === MINUS || isDigit(byte)) {
      this.#part = byte === MINUS ? "sign" : byte === ZERO ? "zero" : "whole";
      this.#state = "number";
    } else if (literal) {
      this.#literal = literal;
      this.#literalAt = 1;
      this.#state = "literal";
    } else this.#fail(i);
  }

  #enter(i: number, byte: number): void {
    if (this.#open.length === 0) this.#isObject = byte === OPENING_BRACE;
    this.#open.push(byte);
    this.#state = byte === OPENING_BRACE ? "nameOrEnd" : "valueOrEnd";
    if (this.#open.length > DEEPEST) this.#fail(i, `it is nested deeper than ${DEEPEST} levels`);
  }

  #close(piece: Uint8Array, i: number): void {
    this.#open.pop();
    this.#endValue(piece, i + 1);
  }

  /** Most of a large result is text, so nearly all the time is spent in this inner loop. */
  #inString(piece: Uint8Array, start: number): number {
    let i = start;
    let byte = 0;
    while (i < piece.length) {
      byte = piece[i]!;
      if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
      i++;
    }
    if (i === piece.length) return i;
    if (byte === BACKSLASH) this.#state = "escape";
    else if (byte !== QUOTE) this.#fail(i);
    else if (this.#isName) this.#endName(piece, i + 1);
    else this.#endValue(piece, i + 1);
    return i + 1;
  }

  #inNumber(piece: Uint8Array, start: number): number {
    let i = start;
    if (TAKES_DIGITS.has(this.#part)) while (i < piece.length && isDigit(piece[i]!)) i++;
    if (i === piece.length) return i;
    const next = nextPart(this.#part, piece[i]!);
    if (next) {
      this.#part = next;
      return i + 1;
    }
    // The byte that ends a number is not part of it, so it is read again.
    this.#endNumber(i, piece);
    return i;
  }

  #endNumber(i: number, piece: Uint8Array = new Uint8Array()): void {
    if (ENDS_NUMBER.has(this.#part)) this.#endValue(piece, i);
    else this.#fail(i);
  }

  #endName(piece: Uint8Array, end: number): void {
    this.#state = "colon";
    if (this.#open.length !== 1) return;
    const text = this.#taken(piece, end);
    const name = text && (JSON.parse(Buffer.from(text).toString()) as string);
    this.#name = name !== undefined && this.#wanted.has(name) ? name : undefined;
  }

  #endValue(piece: Uint8Array, end: number): void {
    this.#state = this.#open.length === 0 ? "over" : "behindValue";
    if (this.#open.length !== 1 || this.#name === undefined) return;
    const isKept = this.#kept.has(this.#name);
    const span: Span = [this.#valueStart, this.#before + end];
    const beginning = isKept ? this.#beginning(piece, end) : undefined;
    this.#members.set(this.#name, beginning ? { span, beginning } : { span });
    this.#name = undefined;
  }

  /** Returns everything that was kept, or undefined if it did not all fit. */
  #taken(piece: Uint8Array, end: number): Uint8Array | undefined {
    const most = this.#copy!.most;
    const bytes = this.#beginning(piece, end);
    return bytes.length < most ? bytes : undefined;
  }

  #beginning(piece: Uint8Array, end: number): Uint8Array {
    this.#keep(piece, end);
    const { bytes } = this.#copy!;
    this.#copy = undefined;
    return Buffer.concat(bytes);
  }

  #keep(piece: Uint8Array, end: number): void {
    const copy = this.#copy!;
    const room = Math.min(end - copy.from, copy.most - copy.length);
    if (room <= 0) return;
    copy.bytes.push(piece.slice(copy.from, copy.from + room));
    copy.length += room;
  }

  #fail(i: number, why = `something unexpected stands at byte ${this.#before + i}`): void {
    this.#fault = why;
  }
}
