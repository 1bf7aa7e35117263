/** The pages beside the text, read from the index of the documentation: a page that the index lists is in the site's menu. */
import { linkFrom } from "./places.ts";

export interface Entry {
  title: string;
  url: string;
}

export interface Section {
  title: string;
  entries: Entry[];
  isOpen(address: string): boolean;
}

/** A longer section is closed unless the page is one of its own. */
const LONG = 12;
const LINK = /\[([^\]]+)\]\(([^)]+)\)/g;

export function navigationFrom(index: string, reference: readonly Entry[]): Section[] {
  const [, ...parts] = index.split(/^## /m);
  const sections = parts.map((part) => {
    const [title = "", ...rest] = part.split("\n");
    return sectionOf(title.trim(), entriesIn(rest));
  });
  return [...sections, sectionOf("API reference", reference)];
}

function sectionOf(title: string, entries: readonly Entry[]): Section {
  const isLong = entries.length > LONG;
  return { title, entries: [...entries], isOpen: (address) => !isLong || entries.some(({ url }) => url === address) };
}

/** In a table only the first column names pages. */
function entriesIn(lines: readonly string[]): Entry[] {
  const named = lines.map((line) => (line.startsWith("|") ? line.split("|")[1]! : line)).join("\n");
  return [...named.matchAll(LINK)].flatMap(([, title, href]) => {
    const url = linkFrom("docs/README.md", href!);
    return url ? [{ title: title!, url }] : [];
  });
}
