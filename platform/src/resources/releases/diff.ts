/** What differs between two releases of an endpoint, in the names that public clients know. */
import { type FlatEndpoint, flatFields } from "../endpoints/flat.ts";
import type { KeptEndpoint } from "../endpoints/model.ts";
import type { Change } from "./model.ts";

/** Variables may name secrets; values of secrets are nowhere in an endpoint. */
const fields = Object.entries(flatFields).map(([name, { read, released = name }]) => ({
  field: released,
  of: read as (endpoint: KeptEndpoint) => FlatEndpoint[keyof FlatEndpoint] | undefined,
}));

export function releaseDiff(before: KeptEndpoint, after: KeptEndpoint): Change[] {
  return fields
    .map(({ field, of }) => ({ field, old: of(before) ?? null, new: of(after) ?? null }))
    .filter((change) => JSON.stringify(change.old) !== JSON.stringify(change.new));
}
