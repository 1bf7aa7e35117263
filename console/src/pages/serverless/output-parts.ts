/** What an output is, for showing it: pictures in it, a link to one that is too long, texts that are cut. */
import { countText } from "../../design/facts.tsx";

export interface Picture {
  /** Where in the output it is. */
  path: string;
  src: string;
}

export interface LongOutput {
  url: string;
  bytes: number;
}

/** What the server puts in the place of an output that is too long for the record. */
export function longOutput(value: unknown): LongOutput | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { url, bytes, ...rest } = value as Partial<LongOutput>;
  const isLink = typeof url === "string" && typeof bytes === "number" && /\/output\/.*signature=/.test(url);
  return isLink && Object.keys(rest).length === 0 ? { url, bytes } : undefined;
}

const MOST_PICTURES = 12;
const DEEPEST = 8;
/** How files of these kinds begin in base64. */
const KINDS: readonly [start: string, type: string][] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
];

export function picturesIn(value: unknown): Picture[] {
  const found: Picture[] = [];
  const look = (part: unknown, path: string, depth: number) => {
    if (found.length >= MOST_PICTURES || depth > DEEPEST) return;
    if (typeof part === "string") {
      const src = pictureSource(part);
      if (src !== undefined) found.push({ path, src });
    } else if (Array.isArray(part)) {
      for (const [index, item] of part.entries()) look(item, `${path}[${index}]`, depth + 1);
    } else if (typeof part === "object" && part !== null) {
      for (const [key, item] of Object.entries(part)) look(item, path === "" ? key : `${path}.${key}`, depth + 1);
    }
  };
  look(value, "", 0);
  return found;
}

function pictureSource(text: string): string | undefined {
  // SVG can hold scripts; the browser runs none in an image, and the policy of the page forbids them too.
  if (/^data:image\/(png|jpeg|gif|webp|avif|svg\+xml);base64,[\w+/=\s]+$/.test(text.slice(0, 200))) return text;
  if (text.length < 60 || !/^[\w+/]+=*$/.test(text.slice(0, 100))) return undefined;
  const type = KINDS.find(([start]) => text.startsWith(start))?.[1];
  return type && `data:${type};base64,${text}`;
}

const LONGEST_TEXT = 2000;
const SHOWN_OF_LONG = 120;

/** JSON to look at: long texts are cut, as a picture of 2 MB in base64 says nothing. */
export function shownJson(value: unknown): { text: string; isCut: boolean } {
  let isCut = false;
  const text = JSON.stringify(
    value,
    (_, part: unknown) => {
      if (typeof part !== "string" || part.length <= LONGEST_TEXT) return part;
      isCut = true;
      return `${part.slice(0, SHOWN_OF_LONG)}… (${countText(part.length)} characters)`;
    },
    2,
  );
  return { text: text ?? "null", isCut };
}
