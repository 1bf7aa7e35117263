/** What differs between two releases of an endpoint, in the names that public clients know. */
import { isSame } from "../../kernel/same.ts";
import { endpointDialect } from "../endpoints/flat.ts";
import type { KeptEndpoint } from "../endpoints/model.ts";
import type { ReleaseChange } from "./model.ts";

/** What the history calls otherwise than the flat dialect does. */
const called: Record<string, string> = {
  dataCenterIds: "locations",
  workersMin: "workers.min",
  workersMax: "workers.max",
  idleTimeout: "workers.idleTimeout",
};

/** Variables may name secrets; values of secrets are nowhere in an endpoint. */
const fields = Object.entries(endpointDialect.fields).map(([name, { read }]) => ({
  field: called[name] ?? name,
  of: read,
}));

export function releaseDiff(before: KeptEndpoint, after: KeptEndpoint): ReleaseChange[] {
  return fields
    .map(({ field, of }) => ({ field, old: of(before) ?? null, new: of(after) ?? null }))
    .filter((change) => !isSame(change.old, change.new));
}
