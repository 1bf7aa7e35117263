/** Makes the operations that most resources have from a resource's shapes: list, create, get, update, delete and act. */

import type { Operation } from "./operation.ts";
import { Pagination, pageQuery } from "./page.ts";
import { closed, oneOf, type TObject, type TSchema, t } from "./schema.ts";
import type { ScopedResource } from "./scope.ts";

interface Shapes {
  record: TSchema;
  create: TSchema;
  update: TSchema;
}

interface Common<Many extends string> extends Pick<Operation, "tag"> {
  scope: ScopedResource;
  /** What a key narrowed to endpoints may do with these operations; nothing by default. */
  narrowed?: Operation["narrowed"];
  /** The noun in sentences, such as `a secret`. */
  one: string;
  /** The plural, such as `secrets`, used in sentences and as the name of the list. */
  many: Many;
}

/** What a single operation may set for itself. */
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
    /** Lists in pages, newest first. */
    list: (own: Own = {}) => ({
      ...{ method: "GET" as const, path, status: 200, summary: `List ${many}`, description: "Newest first.", ...reads },
      ...own,
      query: t.Object(pageQuery),
      out: t.Object({ ...listed, pagination: Pagination }),
    }),
    /** Lists everything that matches a query, in one response. */
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
    /** Makes a move of the lifecycle. The service refuses it in a state where the move does not start. */
    act: <Move extends string>({ moves }: { moves: Readonly<Record<Move, unknown>> }, own: Own = {}) => ({
      ...{ method: "POST" as const, path: `${single}/action`, status: 200, summary: `Act on ${one}`, ...writes },
      refuses: ["wrong-state"] as const,
      ...own,
      in: closed({ action: oneOf(Object.keys(moves) as Move[]) }),
      out: shown,
    }),
  };
}
