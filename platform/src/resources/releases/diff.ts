/** Finds what differs between two releases of an endpoint, in the names that public clients know. */
import { isSame } from "../../kernel/same.ts";
import { endpointDialect } from "../endpoints/flat.ts";
import type { KeptEndpoint } from "../endpoints/model.ts";
import type { ReleaseChange } from "./model.ts";

/** Names in the release history that differ from the flat dialect. */
const called: Record<string, string> = {
  dataCenterIds: "locations",
  workersMin: "workers.min",
  workersMax: "workers.max",
  idleTimeout: "workers.idleTimeout",
};

/** Showing variables is safe: they may name secrets, but an endpoint never holds the value of a secret. */
const fields = Object.entries(endpointDialect.fields).map(([name, { read }]) => ({
  field: called[name] ?? name,
  of: read,
}));

export function releaseDiff(before: KeptEndpoint, after: KeptEndpoint): ReleaseChange[] {
  return fields
    .map(({ field, of }) => ({ field, old: of(before) ?? null, new: of(after) ?? null }))
    .filter((change) => !isSame(change.old, change.new));
}
