/** Makes the operations that REST v1 has on most resources from a resource's flat shapes. Lists are bare arrays, and two methods update. */
import type { FlatShapes } from "./flat-shapes.ts";
import type { Operation } from "./operation.ts";
import { type TObject, t } from "./schema.ts";
import type { ScopedResource } from "./scope.ts";

/** What all operations on one resource share. */
interface Common extends Pick<Operation, "tag"> {
  scope: ScopedResource;
  /** What a key narrowed to endpoints may do with these operations; nothing by default. */
  narrowed?: Operation["narrowed"];
  /** The noun in sentences, such as `a template`. */
  one: string;
  many: string;
  /** The name of the id in paths. */
  id: string;
}

/** What a single operation may set for itself. */
type Own = Partial<Pick<Operation, "description" | "byPod" | "refuses" | "bodyLimit">>;
type Asking = Own & { query?: TObject };

export function flatOperationsOn<Q extends TObject = TObject>(
  { record, create, update }: Pick<FlatShapes, "record" | "create" | "update">,
  path: string,
  { tag, narrowed = "refused", scope, one, many, id }: Common,
  /** The query parameters that choose which extra parts of a record are shown. */
  including?: Q,
) {
  const shared = { tag, narrowed, resource: scope };
  const reads = { ...shared, scope: `${scope}:read` } as const;
  const writes = { ...shared, scope: `${scope}:write` } as const;
  const single = `${path}/{${id}}`;
  const included = (including ? { query: including } : {}) as { query: Q };
  const changing = { status: 200, in: update, out: record, ...writes } as const;
  return {
    single,
    writes,
    record,
    list: <A extends Asking>(own: A) => ({
      ...{ method: "GET" as const, path, status: 200, summary: `List ${many}`, description: "Newest first.", ...reads },
      ...included,
      ...own,
      out: t.Array(record),
    }),
    create: (own: Own & { status?: number } = {}) => ({
      ...{ method: "POST" as const, path, status: 200, summary: `Create ${one}`, ...writes, ...own },
      in: create,
      out: record,
    }),
    get: (own: Own = {}) => ({
      ...{ method: "GET" as const, path: single, status: 200, summary: `Get ${one}`, ...reads, ...own },
      ...included,
      out: record,
    }),
    update: (own: Own = {}) => ({
      ...{ method: "PATCH" as const, path: single, summary: `Update ${one}`, ...changing, ...own },
    }),
    updateByPost: (own: Own = {}) => ({
      ...{ method: "POST" as const, path: `${single}/update`, summary: `Update ${one}, by POST`, ...changing, ...own },
    }),
    remove: (own: Own = {}) => ({
      ...{ method: "DELETE" as const, path: single, status: 204, summary: `Delete ${one}`, ...writes, ...own },
    }),
    /** An action with a path word of its own, such as `start`. */
    act: (word: string, own: Own & { summary: string }) => ({
      ...{ method: "POST" as const, path: `${single}/${word}`, status: 200, ...writes, ...own },
      out: record,
    }),
  };
}
