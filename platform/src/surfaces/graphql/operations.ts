/** Operations of REST v2 as fields of GraphQL: the same right and the same words in the audit log, with shapes of their own. */
import type { Operation } from "../../kernel/operation.ts";

/** To be read, by nothing but the field itself. */
export function lookup({ in: _in, query: _query, out: _out, ...operation }: Operation): Operation {
  return { ...operation, method: "GET" };
}

/** A change, of which `body` is what a caller says; without it there is nothing to say beside what it is done to. */
export function change(
  { in: _in, query: _query, out: _out, ...operation }: Operation,
  body?: Operation["in"],
): Operation {
  return { ...operation, ...(body && { in: body }) };
}
