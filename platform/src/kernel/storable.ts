/** Text that every database can hold. That of PostgreSQL has neither U+0000 nor half a surrogate pair, so that of no other has. */

const REPLACEMENT = "\ufffd";

/** Why a text cannot be kept; undefined when it can. */
export function unstorable(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  if (!text.isWellFormed()) return "must not contain half of a surrogate pair";
  return undefined;
}

export const isStorable = (text: string) => unstorable(text) === undefined;

/** For what workers and programs say: what cannot be kept of it is replaced. What clients send is refused instead. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll("\0", REPLACEMENT);
}

/** As JSON, both stand as escapes: surrogates that have their other half do not. */
const SUSPICIOUS = /\\u(?:0000|d[89a-f])/;
const ESCAPE = /\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/** JSON of this value, with names and texts in it that can be kept. A text that is JSON itself, with escapes of its own, stays as it is. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!SUSPICIOUS.test(text)) return text;
  return text.replace(ESCAPE, (whole, escaped: string) => (escaped.length > 1 ? REPLACEMENT : whole));
}
