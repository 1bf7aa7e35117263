/** Compares an answer with the JSON that a document shows for it. In that JSON `…` stands for anything. */

/** Times differ with every run: any number matches. */
const MEASURED = ["delayTime", "executionTime"];
const ANYTHING = "…";

/** Returns where the answer differs from the pattern, or nothing if it matches. */
export function differences(pattern: string, answer: unknown): string[] {
  return differ(JSON.parse(asJson(pattern)), answer, "$");
}

/** A bare `…` is a value after a colon or in a list, and the rest of the fields in an object. */
function asJson(pattern: string): string {
  const open: string[] = [];
  let last = "";
  return pattern.replaceAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,…]/g, (token) => {
    const before = last;
    last = token;
    if (token === "{" || token === "[") open.push(token);
    if (token === "}" || token === "]") open.pop();
    if (token !== ANYTHING) return token;
    return open.at(-1) === "{" && before !== ":" ? '"…": "…"' : '"…"';
  });
}

function differ(pattern: unknown, answer: unknown, at: string): string[] {
  if (pattern === ANYTHING) return [];
  if (typeof pattern === "string" && typeof answer === "string" && textMatches(pattern, answer)) return [];
  if (Array.isArray(pattern) && Array.isArray(answer)) return differInList(pattern, answer, at);
  if (isObject(pattern) && isObject(answer)) return differInFields(pattern, answer, at);
  if (Object.is(pattern, answer)) return [];
  return [`${at}: ${JSON.stringify(answer)} is not ${JSON.stringify(pattern)}`];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function textMatches(pattern: string, text: string): boolean {
  const parts = pattern.split(ANYTHING).map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(text);
}

function differInList(pattern: readonly unknown[], answer: readonly unknown[], at: string): string[] {
  const isOpen = pattern.at(-1) === ANYTHING;
  const shown = isOpen ? pattern.slice(0, -1) : pattern;
  if (isOpen ? answer.length < shown.length : answer.length !== shown.length)
    return [`${at}: has ${answer.length} items, not ${shown.length}`];
  return shown.flatMap((item, i) => differ(item, answer[i], `${at}[${i}]`));
}

function differInFields(pattern: Record<string, unknown>, answer: Record<string, unknown>, at: string): string[] {
  const { [ANYTHING]: rest, ...shown } = pattern;
  const more = rest === undefined ? Object.keys(answer).filter((name) => !(name in shown)) : [];
  const wrong = Object.entries(shown).flatMap(([name, value]) => {
    if (MEASURED.includes(name) && typeof value === "number" && typeof answer[name] === "number") return [];
    return name in answer ? differ(value, answer[name], `${at}.${name}`) : [`${at}.${name}: is missing`];
  });
  return [...wrong, ...more.map((name) => `${at}.${name}: is not shown`)];
}
