/** The audit log as REST v2 says it. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { paged } from "../../kernel/cursor.ts";
import type { Handlers } from "../../kernel/operation.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { AuditEntry, KeptAuditEntry } from "./model.ts";
import type { auditOperations } from "./operations.ts";
import type { AuditLog } from "./service.ts";

export const auditHandlers = (audit: AuditLog): Handlers<typeof auditOperations> => ({
  listAuditEntries: ({ caller, query: { from, to, operation, resource, key, ...query } }) =>
    paged(
      "entries",
      query,
      (asked) =>
        audit.page(caller, {
          ...{ ...asked, operation, resource, key },
          from: from === undefined ? undefined : parseTimestamp(from),
          to: to === undefined ? undefined : parseTimestamp(to),
        }),
      shown,
    ),
});

function shown({ id, createdAt, doc }: Item<KeptAuditEntry>): AuditEntry {
  const { actor, operation, action, resource, address, userAgent, fields, outcome, reason } = doc;
  return {
    id,
    at: timestamp(createdAt),
    actor: { type: actor.type, id: actor.id ?? null, name: actor.name ?? null },
    operation,
    action: action ?? null,
    resource: resource ? { type: resource.type, id: resource.id ?? null } : null,
    address: address ?? null,
    userAgent: userAgent ?? null,
    fields,
    outcome,
    reason: reason ?? null,
  };
}
