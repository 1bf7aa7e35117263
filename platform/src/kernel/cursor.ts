/** Opaque cursors that say where a page ends. Only the listing that issued a cursor accepts it, and only with the same parameters. */
import { DEFAULT_PAGE } from "./page.ts";
import { problem } from "./problem.ts";
import { isStorable } from "./storable.ts";

/** How far a listing was read: the last record that the caller has seen. */
export interface LastSeen {
  createdAt: number;
  id: string;
}

/** A listing asks the store for one record more than it shows, and so knows whether more follow. */
export function pageOf<T extends LastSeen>(listing: string, found: T[], limit: number) {
  const shown = found.slice(0, limit);
  return { shown, pagination: paginationOf(listing, found.length > limit ? shown.at(-1) : undefined) };
}

/** Separates the name of a listing from the digest of its parameters. */
export const PARAMETERS = "?";

const withoutParameters = (asked: string) => asked.split(PARAMETERS)[0];

/** Reads a whole listing for callers that ask without pages, up to a bound that no account should come near. */
export async function unpaged<T>(
  find: (asked: { after: LastSeen | undefined; limit: number }) => Promise<{ items: T[]; next: LastSeen | undefined }>,
): Promise<T[]> {
  const all: T[] = [];
  let after: LastSeen | undefined;
  do {
    const { items, next } = await find({ after, limit: DEFAULT_PAGE });
    all.push(...items);
    after = next;
  } while (after !== undefined && all.length < UNPAGED_AT_MOST);
  return all;
}

const UNPAGED_AT_MOST = 10_000;

/** `next` is the last record on this page; undefined when this is the last page. */
export function paginationOf(listing: string, next: LastSeen | undefined) {
  return { nextCursor: next ? encode(listing, next) : null, hasNextPage: next !== undefined };
}

function encode(listing: string, { createdAt, id }: LastSeen): string {
  return Buffer.from(JSON.stringify([listing, createdAt, id])).toString("base64url");
}

export function decodeCursor(listing: string, cursor: string | undefined): LastSeen | undefined {
  if (cursor === undefined) return undefined;
  let why = "is not a cursor of this listing";
  try {
    const [from, createdAt, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [string, number, string];
    const isPlace = Number.isSafeInteger(createdAt) && typeof id === "string" && isStorable(id);
    if (from === listing && isPlace) return { createdAt, id };
    if (isPlace && withoutParameters(from) === withoutParameters(listing)) why = OTHER_PARAMETERS;
  } catch {
    // The text is no cursor of ours. It is refused below like a cursor of another listing.
  }
  throw problem("invalid", "Request validation failed.", { errors: [`$.cursor: ${why}`] });
}

const OTHER_PARAMETERS =
  "was given for other parameters: send it with those of the page before, or ask for the first page without it";
