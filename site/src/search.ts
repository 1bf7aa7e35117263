/** What the search looks through: each part of a page below a heading is an entry of its own. */

export interface SearchEntry {
  id: number;
  url: string;
  title: string;
  heading: string;
  text: string;
}

interface Written {
  address: string;
  title: string;
  html: string;
}

const HEADING = /<h([123])(?: id="([^"]*)")?[^>]*>(.*?)<\/h\1>/gs;
/** A long part, such as a table of settings, is found by its first words too. */
const LONGEST = 4000;

export function searchable(pages: readonly Written[]): SearchEntry[] {
  const entries = pages.flatMap(({ address, title, html }) => {
    const headings = [...html.matchAll(HEADING)];
    return headings.map((found, at) => {
      const end = headings[at + 1]?.index ?? html.length;
      const text = plain(html.slice(found.index + found[0].length, end)).slice(0, LONGEST);
      const url = found[1] === "1" || !found[2] ? address : `${address}#${found[2]}`;
      return { url, title, heading: plain(found[3]!), text };
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
