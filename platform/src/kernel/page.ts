/** The parameters by which operations ask for a page of a listing, and the fields that say what comes next. */
import { t } from "./schema.ts";

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

/** Longer lists are shown this many items per turn. Other requests run between the turns. */
export const SHOWN_IN_A_TURN = 250;
