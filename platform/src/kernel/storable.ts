/** Text that every database can hold. PostgreSQL keeps neither U+0000 nor half a surrogate pair, so no store accepts them. */

const REPLACEMENT = "\ufffd";

/** Returns why a text cannot be kept, or undefined if it can. */
export function unstorable(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  if (!text.isWellFormed()) return "must not contain half of a surrogate pair";
  return undefined;
}

export const isStorable = (text: string) => unstorable(text) === undefined;

/** Replaces what cannot be kept, in text from workers and programs. Text from clients is refused instead. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.toWellFormed().replaceAll("\0", REPLACEMENT);
}

/** JSON.stringify writes U+0000 and lone surrogates as escapes. It does not escape complete surrogate pairs. */
const SUSPICIOUS = /\\u(?:0000|d[89a-f])/;
const ESCAPE = /\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/** Returns the value as JSON in which every name and text can be kept. A text that is itself JSON with escapes stays unchanged. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!SUSPICIOUS.test(text)) return text;
  return text.replace(ESCAPE, (whole, escaped: string) => (escaped.length > 1 ? REPLACEMENT : whole));
}
