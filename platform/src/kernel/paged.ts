/** Reads one page of a listing for a query. A cursor is valid only for the query parameters it was made with. */
import { createHash } from "node:crypto";
import { decodeCursor, type LastSeen, PARAMETERS, paginationOf } from "./cursor.ts";
import { DEFAULT_PAGE, SHOWN_IN_A_TURN } from "./page.ts";
import { mappedInSlices } from "./slices.ts";

/**
 * Returns the page under the name of the listing, with a cursor for the next one. The cursor is bound to all other parameters of the query,
 * but not to `limit`: pages may differ in length.
 */
export async function paged<Listing extends string, T, S>(
  listing: Listing,
  { cursor, limit = DEFAULT_PAGE, ...parameters }: { cursor?: string; limit?: number; [parameter: string]: unknown },
  find: (asked: { after: LastSeen | undefined; limit: number }) => Promise<{ items: T[]; next: LastSeen | undefined }>,
  show: (item: T) => S,
) {
  const asked = askedFor(listing, parameters);
  const { items, next } = await find({ after: decodeCursor(asked, cursor), limit });
  const shown = { [listing]: await mappedInSlices(items, SHOWN_IN_A_TURN, show) } as Record<Listing, S[]>;
  return { ...shown, pagination: paginationOf(asked, next) };
}

const DIGEST_LENGTH = 16;

/** Names a listing together with a digest of its parameters, in any order. Parameters may be long, and cursors must stay short. */
function askedFor(listing: string, parameters: Record<string, unknown>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  if (given.length === 0) return listing;
  const text = JSON.stringify(given.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return `${listing}${PARAMETERS}${createHash("sha256").update(text).digest("base64url").slice(0, DIGEST_LENGTH)}`;
}
