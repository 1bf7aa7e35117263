/** Turns operations of REST v2 into GraphQL fields: they keep their right and their name in the audit log, but have shapes of their own. */
import type { Operation } from "../../kernel/operation.ts";

/** A read that takes no input. */
export function lookup({ in: _in, query: _query, out: _out, ...operation }: Operation): Operation {
  return { ...operation, method: "GET" };
}

/** A change whose input is `body`. Without `body` it takes no input except the id of what it changes. */
export function change(
  { in: _in, query: _query, out: _out, ...operation }: Operation,
  body?: Operation["in"],
): Operation {
  return { ...operation, ...(body && { in: body }) };
}
