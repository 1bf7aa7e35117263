/** Finds where values are in a JSON text, so that one can be changed without parsing and writing all the others. */

/** From the first character of a value to the one after it. */
export type Span = [start: number, end: number];

/** Returns every value at `path` in a valid JSON text, in order. A repeated key has several, and parsers take the last. */
export function valueSpans(text: string, path: readonly string[], start = skipSpace(text, 0)): Span[] {
  const [name, ...rest] = path;
  if (name === undefined) return [[start, endOfValue(text, start)]];
  if (text[start] !== "{") return [];
  return [...members(text, start)].filter(({ key }) => key === name).flatMap(({ at }) => valueSpans(text, rest, at));
}

/** Returns the items of the array that begins at `start` in a valid JSON text. */
export function itemSpans(text: string, start = skipSpace(text, 0)): Span[] {
  const spans: Span[] = [];
  let at = skipSpace(text, start + 1);
  while (at < text.length && text[at] !== "]") {
    const end = endOfValue(text, at);
    spans.push([at, end]);
    const behind = skipSpace(text, end);
    if (text[behind] !== ",") break;
    at = skipSpace(text, behind + 1);
  }
  return spans;
}

/** Returns the same places counted in bytes of UTF-8. The places must be in order. */
export function byteSpans(text: string, spans: readonly Span[]): Span[] {
  let [at, bytes] = [0, 0];
  const byteAt = (index: number) => {
    bytes += Buffer.byteLength(text.slice(at, index));
    at = index;
    return bytes;
  };
  return spans.map(([start, end]) => [byteAt(start), byteAt(end)]);
}

export function replaceSpans(text: string, spans: readonly Span[], replacements: readonly string[]): string {
  let from = 0;
  let replaced = "";
  for (const [i, [start, end]] of spans.entries()) {
    replaced += text.slice(from, start) + replacements[i];
    from = end;
  }
  return replaced + text.slice(from);
}

/** The members of the object that begins at `start`, each with the place of its value. */
function* members(text: string, start: number): Generator<{ key: string; at: number }> {
  let at = skipSpace(text, start + 1);
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const valueAt = skipSpace(text, skipSpace(text, keyEnd) + 1);
    yield { key, at: valueAt };
    const behind = skipSpace(text, endOfValue(text, valueAt));
    at = skipSpace(text, behind + 1);
    if (text[behind] !== ",") return;
  }
}

function endOfValue(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return endOfString(text, start);
  if (first !== "{" && first !== "[") return endOfScalar(text, start);
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at) - 1;
    else if (character === "{" || character === "[") depth++;
    else if ((character === "}" || character === "]") && --depth === 0) return at + 1;
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfScalar(text: string, start: number): number {
  let at = start;
  while (at < text.length && !",}] \t\r\n".includes(text[at]!)) at++;
  return at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (" \t\r\n".includes(text[at] ?? "x")) at++;
  return at;
}
