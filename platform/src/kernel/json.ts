/** JSON as it arrives from outside: parsed strictly, and searched for text that no store could keep. */
import { problem } from "./problem.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export function parseJson(bytes: Uint8Array): unknown {
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
    // V8 quotes the text around the fault, which may hold a secret; only the position is passed on.
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    throw problem("malformed", `The request body is not valid JSON${position ? ` (at position ${position})` : ""}.`);
  }
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
      if (fault) errors.push(`${path}: ${fault}`);
    } else if (typeof current === "object" && current !== null) {
      for (const [key, child] of Object.entries(current)) {
        const childPath = Array.isArray(current) ? `${path}[${key}]` : memberPath(path, key);
        const fault = Array.isArray(current) ? undefined : unstorable(key);
        if (fault) errors.push(`${path}: a property name ${fault}`);
        else pending.push([childPath, child]);
      }
    }
  }
  return errors;
}

function unstorable(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  if (!text.isWellFormed()) return "must not contain half of a surrogate pair";
  return undefined;
}

/** A JSON path: `$.name` for plain names, `$["odd name"]` for others. */
export function memberPath(path: string, key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
