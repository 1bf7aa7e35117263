/** JSON as it arrives from outside: parsed strictly, and searched for text that no store could keep. */
import { problem } from "./problem.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export function parseJson(bytes: Uint8Array): unknown {
  refuseDeepNesting(bytes);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw problem("malformed", "The request body is not valid UTF-8.", { cause });
  }
  const value = parseJsonText(text);
  const unstorable = findUnstorableText(text, value);
  if (unstorable.length > 0) throw problem("invalid", "Request validation failed.", { errors: unstorable });
  return value;
}

export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // V8 quotes the text around the fault, which may hold a secret; only the position, which it puts last, is passed on.
    const position = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec((error as Error).message)?.[1];
    throw problem("malformed", `The request body is not valid JSON${position ? ` (at position ${position})` : ""}.`);
  }
}

/** What recurses over a value, such as JSON.stringify, fails from about 5,000 levels on. */
const DEEPEST = 1000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Looked at before parsing: V8 takes 20 seconds and 3 GB over the 100 million levels that a large body can hold. */
function refuseDeepNesting(bytes: Uint8Array): void {
  let depth = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    // Setting one bit makes `[` into `{` and `]` into `}`.
    if (byte === QUOTE) i = endOfString(bytes, i);
    else if ((byte | 0x20) === 0x7b) depth++;
    else if ((byte | 0x20) === 0x7d) depth--;
    if (depth > DEEPEST) throw problem("malformed", `The request body is nested deeper than ${DEEPEST} levels.`);
  }
}

/** Where the string that opens at `start` closes. Searching for its quote skips a value of 16 MB in a millisecond. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return bytes.length;
}

/** Only an escape can bring NUL or half a surrogate pair into well-formed UTF-8 JSON, so most bodies skip the walk. */
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

function unstorable(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  if (!text.isWellFormed()) return "must not contain half of a surrogate pair";
  return undefined;
}

/** A JSON path: `$.name` for plain names, `$["odd name"]` for others. */
export function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

/** A hostile property name must not make the answer as large as the request. */
export function clip(text: string, longest = 100): string {
  if (text.length <= longest) return text;
  // The cut may fall into a surrogate pair: the half of it that is left goes too.
  return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…`;
}

export function clipPath(path: string): string {
  return clip(path, 400);
}
