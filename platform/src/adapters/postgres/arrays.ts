/** Sends columns of many rows as arrays in PostgreSQL's binary format, which it reads several times faster than JSON. */

const TEXT_OID = 25;
const BIGINT_OID = 20;
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const BIGINT_BYTES = 8;
const ABSENT = -1;
const TWO_TO_32 = 2 ** 32;

const COMMA = 44;
const END = 125;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;

type Maybe<T> = T | null | undefined;

/** Builds a parameter of the type `text[]`. Characters that PostgreSQL's text cannot hold are replaced. */
export function textArray(texts: readonly Maybe<string>[]): Buffer {
  const clean = texts.map((text) => (text?.includes("\u0000") ? text.replaceAll("\u0000", "\ufffd") : text));
  let size = HEADER_BYTES;
  for (const text of clean) size += LENGTH_BYTES + (text ? Buffer.byteLength(text) : 0);
  const bytes = withHeader(size, TEXT_OID, clean);
  let at = HEADER_BYTES;
  for (const text of clean) {
    const isThere = text !== null && text !== undefined;
    // Lone surrogates are also replaced by U+FFFD.
    const length = isThere ? bytes.write(text, at + LENGTH_BYTES) : ABSENT;
    bytes.writeInt32BE(length, at);
    at += LENGTH_BYTES + Math.max(0, length);
  }
  return bytes;
}

/** Builds a parameter of the type `bigint[]`. */
export function bigintArray(numbers: readonly Maybe<number>[]): Buffer {
  const bytes = withHeader(HEADER_BYTES + numbers.length * (LENGTH_BYTES + BIGINT_BYTES), BIGINT_OID, numbers);
  let at = HEADER_BYTES;
  for (const number of numbers) {
    const isThere = number !== null && number !== undefined;
    at = bytes.writeInt32BE(isThere ? BIGINT_BYTES : ABSENT, at);
    if (!isThere) continue;
    const high = Math.floor(number / TWO_TO_32);
    at = bytes.writeInt32BE(high, at);
    at = bytes.writeUInt32BE(number - high * TWO_TO_32, at);
  }
  return bytes.subarray(0, at);
}

/** The header: number of dimensions, whether there are NULLs, the element type, the number of elements and the first index. */
function withHeader(size: number, oid: number, elements: readonly unknown[]): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  const hasNulls = elements.some((element) => element === null || element === undefined);
  for (const [i, word] of [1, Number(hasNulls), oid, elements.length, 1].entries()) bytes.writeInt32BE(word, 4 * i);
  return bytes;
}

/**
 * Parses `{1,NULL,3}`, PostgreSQL's text form of a `bigint[]`. It works digit by digit for speed, since it runs for every job that is read.
 */
export function readBigints(text: string): (number | null)[] {
  const numbers: (number | null)[] = [];
  let number: number | null = 0;
  let sign = 1;
  for (let i = 1; i < text.length && text !== "{}"; i++) {
    const character = text.charCodeAt(i);
    if (character === COMMA || character === END) {
      numbers.push(number === null ? null : sign * number);
      number = 0;
      sign = 1;
    } else if (character === MINUS) sign = -1;
    else if (character < ZERO || character > NINE) number = null;
    else if (number !== null) number = number * 10 + character - ZERO;
  }
  return numbers;
}
