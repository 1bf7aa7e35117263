/** Pages: opaque cursors that only the listing which issued them takes back. */
import { problem } from "./problem.ts";
import { t } from "./schema.ts";
import { isStorable } from "./storable.ts";

export const DEFAULT_PAGE = 1000;

export const pageQuery = {
  cursor: t.Optional(
    t.String({ minLength: 1, maxLength: 1024, description: "`pagination.nextCursor` of the page before." }),
  ),
  limit: t.Optional(t.Integer({ minimum: 1, maximum: 1000, default: DEFAULT_PAGE, description: "How many at most." })),
};

export const Pagination = t.Object(
  {
    nextCursor: t.Union([t.String(), t.Null()], { description: "Where the next page begins; null on the last one." }),
    hasNextPage: t.Boolean(),
  },
  { $id: "Pagination" },
);

/** How far a listing was read: the last record already seen. */
export interface LastSeen {
  createdAt: number;
  id: string;
}

/** A listing asks for one more than it shows, and so knows whether there is more. */
export function pageOf<T extends LastSeen>(listing: string, found: T[], limit: number) {
  const shown = found.slice(0, limit);
  return { shown, pagination: paginationOf(listing, found.length > limit ? shown.at(-1) : undefined) };
}

/** The page of a listing that a query asks for, shown under the name of the listing, with where the next one begins. */
export async function paged<Listing extends string, T, S>(
  listing: Listing,
  { cursor, limit = DEFAULT_PAGE }: { cursor?: string; limit?: number },
  find: (asked: { after: LastSeen | undefined; limit: number }) => Promise<{ items: T[]; next: LastSeen | undefined }>,
  show: (item: T) => S,
) {
  const { items, next } = await find({ after: decodeCursor(listing, cursor), limit });
  const shown = { [listing]: items.map(show) } as Record<Listing, S[]>;
  return { ...shown, pagination: paginationOf(listing, next) };
}

/** All of a listing that is asked for without pages, up to a bound that no account should come near. */
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

/** `next` is the last record of a page that is not the last one. */
export function paginationOf(listing: string, next: LastSeen | undefined) {
  return { nextCursor: next ? encode(listing, next) : null, hasNextPage: next !== undefined };
}

function encode(listing: string, { createdAt, id }: LastSeen): string {
  return Buffer.from(JSON.stringify([listing, createdAt, id])).toString("base64url");
}

export function decodeCursor(listing: string, cursor: string | undefined): LastSeen | undefined {
  if (cursor === undefined) return undefined;
  try {
    const [from, createdAt, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [string, number, string];
    const isPlace = Number.isSafeInteger(createdAt) && typeof id === "string" && isStorable(id);
    if (from === listing && isPlace) return { createdAt, id };
  } catch {
    // Not one of ours; refused below like any other foreign cursor.
  }
  throw problem("invalid", "Request validation failed.", { errors: ["$.cursor: is not a cursor of this listing"] });
}
