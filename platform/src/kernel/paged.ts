/** The pages of a listing for a query, whose cursors belong to what else the query says. */
import { createHash } from "node:crypto";
import { decodeCursor, type LastSeen, PARAMETERS, paginationOf } from "./cursor.ts";
import { DEFAULT_PAGE } from "./page.ts";

/**
 * The page of a listing that a query asks for, shown under the name of the listing, with where the next one begins. What else the query says
 * is what the cursor belongs to; pages may differ in their length.
 */
export async function paged<Listing extends string, T, S>(
  listing: Listing,
  { cursor, limit = DEFAULT_PAGE, ...parameters }: { cursor?: string; limit?: number; [parameter: string]: unknown },
  find: (asked: { after: LastSeen | undefined; limit: number }) => Promise<{ items: T[]; next: LastSeen | undefined }>,
  show: (item: T) => S,
) {
  const asked = askedFor(listing, parameters);
  const { items, next } = await find({ after: decodeCursor(asked, cursor), limit });
  const shown = { [listing]: items.map(show) } as Record<Listing, S[]>;
  return { ...shown, pagination: paginationOf(asked, next) };
}

const DIGEST_LENGTH = 16;

/** A listing under the parameters that are given, in whatever order they came. They may be long, and cursors are not. */
function askedFor(listing: string, parameters: Record<string, unknown>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  if (given.length === 0) return listing;
  const text = JSON.stringify(given.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return `${listing}${PARAMETERS}${createHash("sha256").update(text).digest("base64url").slice(0, DIGEST_LENGTH)}`;
}
