/** What the search looks through: each part of a page below a heading is an entry of its own. */

export interface SearchEntry {
  id: number;
  url: string;
  title: string;
  heading: string;
  text: string;
  /** How much more or less than others it matters. */
  weight: number;
}

interface Written {
  address: string;
  title: string;
  html: string;
}

const HEADING = /<h([123])(?: id="([^"]*)")?[^>]*>(.*?)<\/h\1>/gs;
/** A long part, such as a table of settings, is found by its first words too. */
const LONGEST = 16_000;

/** Somebody who searches wants to use the product before they want every field of it, or how it was decided. */
const WEIGHTS: [RegExp, number][] = [
  [/^\/docs\/(decisions|recipes)\/|^\/docs\/(changelog|contributing)/, 0.2],
  [/^\/docs\/api\//, 0.4],
  [/^\/docs\/guides\//, 1.3],
];
const weightOf = (address: string) => WEIGHTS.find(([pattern]) => pattern.test(address))?.[1] ?? 1;

export function searchable(pages: readonly Written[]): SearchEntry[] {
  const entries = pages.flatMap(({ address, title, html }) => {
    // The parts of an operation, such as its answers, have no names of their own.
    const headings = [...html.matchAll(HEADING)].filter(([, level]) => level !== "3" || !address.includes("/api/"));
    return headings.map((found, at) => {
      const end = headings[at + 1]?.index ?? html.length;
      const text = plain(html.slice(found.index + found[0].length, end)).slice(0, LONGEST);
      const url = found[1] === "1" || !found[2] ? address : `${address}#${found[2]}`;
      return { url, title, heading: plain(found[3]!), text, weight: weightOf(address) };
    });
  });
  return entries.map((entry, id) => ({ id, ...entry }));
}

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"' };

const plain = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/&\w+;/g, (entity) => ENTITIES[entity] ?? " ")
    .replaceAll(/\s+/g, " ")
    .trim();
