/** The operations that most resources have, as data made from a resource's shapes: to list, create, get, update, delete and act. */

import type { Operation } from "./operation.ts";
import { Pagination, pageQuery } from "./page.ts";
import { closed, oneOf, type TObject, type TSchema, t } from "./schema.ts";
import type { ScopedResource } from "./scope.ts";

interface Shapes {
  record: TSchema;
  create: TSchema;
  update: TSchema;
}

/** What the operations on one resource share. */
interface Common<Many extends string> extends Pick<Operation, "tag"> {
  scope: ScopedResource;
  /** What a key that is narrowed to endpoints may do with them: nothing, unless they say so. */
  narrowed?: Operation["narrowed"];
  /** `a secret`, in sentences. */
  one: string;
  /** `secrets`, in sentences and as the name of a list of them. */
  many: Many;
}

/** What one of them has of its own. */
type Own = Partial<Pick<Operation, "summary" | "description" | "narrowed" | "byPod" | "refuses" | "bodyLimit">>;

export function operationsOn<R extends Shapes, Many extends string>(
  { record, create, update }: R,
  path: string,
  { tag, narrowed = "refused", scope, one, many }: Common<Many>,
) {
  const reads = { tag, narrowed, scope: `${scope}:read` } as const;
  const writes = { tag, narrowed, scope: `${scope}:write` } as const;
  const single = `${path}/{id}`;
  const shown = record as R["record"];
  const listed = { [many]: t.Array(shown) } as Record<Many, ReturnType<typeof t.Array<R["record"]>>>;
  return {
    /** In pages, the newest first. */
    list: (own: Own = {}) => ({
      ...{ method: "GET" as const, path, status: 200, summary: `List ${many}`, description: "Newest first.", ...reads },
      ...own,
      query: t.Object(pageQuery),
      out: t.Object({ ...listed, pagination: Pagination }),
    }),
    /** Those that a query asks for, all at once. */
    find: <Asks extends { query?: TObject }>(asks: Asks, own: Own = {}) => ({
      ...{ method: "GET" as const, path, status: 200, summary: `List ${many}`, ...reads, ...own },
      ...asks,
      out: t.Object(listed),
    }),
    create: (own: Own = {}) => ({
      ...{ method: "POST" as const, path, status: 201, summary: `Create ${one}`, ...writes, ...own },
      in: create as R["create"],
      out: shown,
    }),
    get: (own: Own = {}) => ({
      ...{ method: "GET" as const, path: single, status: 200, summary: `Get ${one}`, ...reads, ...own },
      out: shown,
    }),
    update: (own: Own = {}) => ({
      ...{ method: "PATCH" as const, path: single, status: 200, summary: `Update ${one}`, ...writes, ...own },
      in: update as R["update"],
      out: shown,
    }),
    remove: (own: Own = {}) => ({
      ...{ method: "DELETE" as const, path: single, status: 204, summary: `Delete ${one}`, ...writes, ...own },
    }),
    /** One of the moves of its lifecycle, which is refused in a state that it does not start in. */
    act: <Move extends string>({ moves }: { moves: Readonly<Record<Move, unknown>> }, own: Own = {}) => ({
      ...{ method: "POST" as const, path: `${single}/action`, status: 200, summary: `Act on ${one}`, ...writes },
      refuses: ["wrong-state"] as const,
      ...own,
      in: closed({ action: oneOf(Object.keys(moves) as Move[]) }),
      out: shown,
    }),
  };
}
