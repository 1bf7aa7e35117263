/** The lines of a log as they are kept and searched: in order of time, from several sources, and never more than fit into memory. */
import Anser from "anser";

export type Level = "error" | "warn" | "info" | "debug";

export interface Line {
  key: number;
  at: number;
  /** Which of the sources wrote it, such as a worker. */
  from: string;
  /** What the platform says, not the program. */
  isSystem: boolean;
  /** As it came, with escape sequences. */
  raw: string;
  /** Without them. */
  text: string;
  level: Level | undefined;
}

export interface NewLine {
  at: number;
  from: string;
  isSystem: boolean;
  raw: string;
}

export interface Kept {
  lines: readonly Line[];
  /** How many were dropped at the front, in all. */
  dropped: number;
}

const MOST_LINES = 50_000;
/** Lines can have 16,384 characters each, so their number alone is no bound. */
const MOST_CHARACTERS = 32_000_000;

/** Gathers lines. Every `flush` makes a new array, so that a reader keeps what it has. */
export class LogLines {
  readonly #mostLines: number;
  readonly #mostCharacters: number;
  #pending: Line[] = [];
  #characters = 0;
  #nextKey = 0;
  kept: Kept = { lines: [], dropped: 0 };

  constructor({ lines = MOST_LINES, characters = MOST_CHARACTERS } = {}) {
    this.#mostLines = lines;
    this.#mostCharacters = characters;
  }

  add({ at, from, isSystem, raw }: NewLine): void {
    const text = plainText(raw);
    const level = breaksOff({ isSystem, text }) ? "warn" : levelOf(text);
    this.#pending.push({ key: this.#nextKey++, at, from, isSystem, raw, text, level });
    this.#characters += raw.length;
    // A hidden page flushes seldom, and its log must not grow meanwhile.
    if (this.#pending.length > this.#mostLines) this.flush();
  }

  /** Whether there was anything new. */
  flush(): boolean {
    if (this.#pending.length === 0) return false;
    const all = inOrder(this.kept.lines, this.#pending);
    this.#pending = [];
    let first = Math.max(0, all.length - this.#mostLines);
    for (let i = 0; i < first; i++) this.#characters -= all[i]!.raw.length;
    for (; this.#characters > this.#mostCharacters && first < all.length - 1; first++)
      this.#characters -= all[first]!.raw.length;
    this.kept = { lines: first === 0 ? all : all.slice(first), dropped: this.kept.dropped + first };
    return true;
  }

  clear(): void {
    this.#pending = [];
    this.#characters = 0;
    this.kept = { lines: [], dropped: 0 };
  }
}

/** The last words of a log whose node is lost. Nothing that the platform says is worth more attention. */
export const breaksOff = ({ isSystem, text }: Pick<Line, "isSystem" | "text">) =>
  isSystem && text.startsWith("the log breaks off");

/** Sources send their first lines one after the other, so later ones may belong between those that are there. */
function inOrder(lines: readonly Line[], more: Line[]): Line[] {
  more.sort((a, b) => a.at - b.at || a.key - b.key);
  const last = lines.at(-1);
  if (last === undefined || last.at <= more[0]!.at) return [...lines, ...more];
  let from = lines.length;
  while (from > 0 && lines[from - 1]!.at > more[0]!.at) from--;
  const merged = [...lines.slice(from), ...more].sort((a, b) => a.at - b.at || a.key - b.key);
  return [...lines.slice(0, from), ...merged];
}

const ESCAPE = "\u001b";
/** Titles of windows and links, which no log needs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are made of them
const OPERATING_SYSTEM_COMMAND = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are made of them
const CONTROL = /[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]/g;

/** A progress bar writes its line again and again behind a carriage return: the last one counts. */
function lastWritten(raw: string): string {
  const whole = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
  return whole.slice(whole.lastIndexOf("\r") + 1);
}

export function plainText(raw: string): string {
  const text = lastWritten(raw);
  const plain = text.includes(ESCAPE) ? Anser.ansiToText(text.replace(OPERATING_SYSTEM_COMMAND, "")) : text;
  return plain.replace(CONTROL, "");
}

const LEVELS: readonly [Level, RegExp][] = [
  ["error", /\b(?:error|fatal|critical|panic|exception)\b|^traceback/i],
  ["warn", /\bwarn(?:ing)?\b/i],
  ["debug", /\b(?:debug|trace)\b/i],
  ["info", /\binfo\b/i],
];
const NAMED = /"?\b(?:level|severity|lvl)"?\s*[=:]\s*"?(\w+)/i;

/** Guessed from how lines begin: `ERROR: …`, `[warn] …`, `level=error`, `{"level":"error"}`. */
export function levelOf(text: string): Level | undefined {
  const start = text.slice(0, 160);
  const word = NAMED.exec(start)?.[1] ?? start.slice(0, 80);
  return LEVELS.find(([, words]) => words.test(word))?.[0];
}

export type Color = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "grey";

export interface Span {
  text: string;
  color?: Color;
  back?: Color;
  isBold?: boolean;
  isDim?: boolean;
  isItalic?: boolean;
  isUnderlined?: boolean;
  isMatch?: boolean;
}

/** A line as spans of one look each. Colours become those of the palette, so that they can be read in both themes. */
export function spansOf({ raw, text }: Pick<Line, "raw" | "text">, search = ""): Span[] {
  const spans = raw.includes(ESCAPE) ? colored(lastWritten(raw)) : [{ text }];
  return search === "" ? spans : marked(spans, text, search);
}

function colored(raw: string): Span[] {
  return Anser.ansiToJson(raw.replace(OPERATING_SYSTEM_COMMAND, ""), { json: true, remove_empty: true }).map(
    ({ content, fg, bg, decorations }) => {
      const color = colorOf(fg);
      const back = colorOf(bg);
      return {
        text: content.replace(CONTROL, ""),
        ...(color && { color }),
        ...(back && { back }),
        ...(decorations.includes("bold") && { isBold: true }),
        ...(decorations.includes("dim") && { isDim: true }),
        ...(decorations.includes("italic") && { isItalic: true }),
        ...(decorations.includes("underline") && { isUnderlined: true }),
      };
    },
  );
}

const HUES: readonly [upTo: number, Color][] = [
  [30, "red"],
  [75, "yellow"],
  [160, "green"],
  [200, "cyan"],
  [260, "blue"],
  [330, "magenta"],
  [360, "red"],
];

/** `187, 0, 0` as the colour of the palette that is nearest to it by hue. */
function colorOf(rgb: string | null): Color | undefined {
  if (!rgb) return undefined;
  const [red = 0, green = 0, blue = 0] = rgb.split(",").map(Number);
  const most = Math.max(red, green, blue);
  const range = most - Math.min(red, green, blue);
  if (range < 40) return most > 60 && most < 200 ? "grey" : undefined;
  const sector =
    most === red ? (green - blue) / range : most === green ? (blue - red) / range + 2 : (red - green) / range + 4;
  const hue = (sector * 60 + 360) % 360;
  return HUES.find(([upTo]) => hue < upTo)?.[1];
}

/** Cuts the spans where the search matches, since a match may reach over several of them. */
function marked(spans: readonly Span[], text: string, search: string): Span[] {
  const ends = matchesIn(text, search);
  const cut: Span[] = [];
  let place = 0;
  for (const span of spans) {
    let rest = span.text;
    while (rest !== "") {
      const match = ends.find(([, end]) => end > place);
      const isMatch = match !== undefined && match[0] <= place;
      const until = match === undefined ? Number.POSITIVE_INFINITY : isMatch ? match[1] : match[0];
      const part = rest.slice(0, until - place);
      cut.push({ ...span, text: part, ...(isMatch && { isMatch }) });
      place += part.length;
      rest = rest.slice(part.length);
    }
  }
  return cut;
}

function matchesIn(text: string, search: string): [start: number, end: number][] {
  return [...text.matchAll(new RegExp(searched(search).source, "gi"))].map(({ index, 0: found }) => [
    index,
    index + found.length,
  ]);
}

/** The search as people type it: any letters, in upper or lower case. */
export const searched = (search: string) => new RegExp(search.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");

export interface LogFilter {
  /** Undefined: all. */
  from?: ReadonlySet<string> | undefined;
  level?: "error" | "warn" | undefined;
  /** Only lines that match. */
  only?: string | undefined;
}

export function filtered(lines: readonly Line[], { from, level, only }: LogFilter): readonly Line[] {
  if (!from && !level && !only) return lines;
  const words = only ? searched(only) : undefined;
  return lines.filter(
    (line) =>
      (!from || from.has(line.from)) &&
      (!level || line.level === "error" || (level === "warn" && line.level === "warn")) &&
      (!words || words.test(line.text)),
  );
}

export function logText(lines: readonly Line[], labelOf?: (from: string) => string): string {
  return lines
    .map(({ at, from, text }) => `${new Date(at).toISOString()}${labelOf ? ` ${labelOf(from)}` : ""} ${text}\n`)
    .join("");
}
