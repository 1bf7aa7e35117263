/** Reads JSON from outside: it parses strictly, and looks for text that no store could keep. */
import { problem } from "./problem.ts";
import { unstorable } from "./storable.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** Parses a body that is kept as it came. An escape in it stays an escape, so it may stand for any character. */
export function parseKeptJson(bytes: Uint8Array): { text: string; value: unknown } {
  refuseDeepNesting(bytes);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw problem("unreadable", "The request body is not valid UTF-8.", { cause });
  }
  return { text, value: parseJsonText(text) };
}

/** Parses a body whose texts are taken out and stored. */
export function parseJson(bytes: Uint8Array): unknown {
  refuseManyValues(bytes);
  const { text, value } = parseKeptJson(bytes);
  const unstorable = findUnstorableText(text, value);
  if (unstorable.length > 0) throw problem("unstorable", "Request validation failed.", { errors: unstorable });
  return value;
}

export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the error, which may hold a secret. Only the position is passed on, which V8 puts last.
    const position = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec((error as Error).message)?.[1];
    throw problem("unreadable", `The request body is not valid JSON${position ? ` (at position ${position})` : ""}.`);
  }
}

/** The limit is well below the about 4,500 levels at which JSON.stringify, which recurses, fails. */
const DEEPEST = 1000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Runs before parsing, since V8 takes 30 seconds and 3 GB for the 50 million levels that a large body can hold. */
function refuseDeepNesting(bytes: Uint8Array): void {
  if (bytes.length <= DEEPEST) return;
  // A body with few brackets cannot nest deeply. This search is native, and ten times as fast as the loop below.
  if (countUpTo(DEEPEST, bytes, OPENING_BRACKET) + countUpTo(DEEPEST, bytes, OPENING_BRACE) <= DEEPEST) return;
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    // Setting the bit 0x20 turns `[` into `{` and `]` into `}`.
    if (byte === QUOTE) i = endOfString(bytes, i);
    else if ((byte | 0x20) === OPENING_BRACE) depth++;
    else if ((byte | 0x20) === CLOSING_BRACE) depth--;
    if (depth > DEEPEST) throw problem("unreadable", `The request body is nested deeper than ${DEEPEST} levels.`);
  }
}

/** No body of the API comes near this many. Parsing and checking a million bytes of short members blocked all requests for 180 ms. */
const MOST_VALUES = 25_000;
const COMMA = 0x2c;

function refuseManyValues(bytes: Uint8Array): void {
  if (countUpTo(MOST_VALUES, bytes, COMMA) <= MOST_VALUES) return;
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === QUOTE) i = endOfString(bytes, i);
    else if (bytes[i] === COMMA && ++count > MOST_VALUES)
      throw problem("invalid", "Request validation failed.", { errors: [`$: holds more than ${MOST_VALUES} values`] });
  }
}

/** Returns how often a byte occurs. It stops counting just above `limit`. */
function countUpTo(limit: number, bytes: Uint8Array, byte: number): number {
  let count = 0;
  for (let i = bytes.indexOf(byte); i !== -1 && count <= limit; i = bytes.indexOf(byte, i + 1)) count++;
  return count;
}

/** Returns where the string that opens at `start` closes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < bytes.length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1;
  return i;
}

/** Only an escape can bring NUL or half a surrogate pair into valid UTF-8 JSON, so most bodies skip the walk. */
const SUSPICIOUS_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;
const REPORTED_AT_MOST = 20;

function findUnstorableText(text: string, value: unknown): string[] {
  if (!SUSPICIOUS_ESCAPE.test(text)) return [];
  const errors: string[] = [];
  const pending: [path: string, value: unknown][] = [["$", value]];
  for (let next = pending.pop(); next && errors.length < REPORTED_AT_MOST; next = pending.pop()) {
    const [path, current] = next;
    if (typeof current === "string") {
      const fault = unstorable(current);
      if (fault) errors.push(`${clipPath(path)}: ${fault}`);
    } else if (Array.isArray(current)) {
      for (let i = current.length - 1; i >= 0; i--)
        if (holdsText(current[i])) pending.push([`${path}[${i}]`, current[i]]);
    } else {
      const members = Object.entries(current as object);
      for (const [key, child] of members.reverse()) {
        const fault = unstorable(key);
        if (fault) errors.push(`${clipPath(path)}: a property name ${fault}`);
        else if (holdsText(child)) pending.push([memberPath(path, clip(key)), child]);
      }
    }
  }
  return errors.slice(0, REPORTED_AT_MOST);
}

const holdsText = (value: unknown) => typeof value === "string" || (typeof value === "object" && value !== null);

/** Extends a JSON path: `$.name` for plain names, `$["odd name"]` for others. */
export function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

/** Shortens a text, so that a hostile property name cannot make the response as large as the request. */
export function clip(text: string, longest = 100): string {
  if (text.length <= longest) return text;
  // The cut may split a surrogate pair. The half that is left is removed too.
  return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…`;
}

export function clipPath(path: string): string {
  return clip(path, 400);
}
