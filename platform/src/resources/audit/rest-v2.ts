/** Answers the REST v2 operations on the audit log. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { AuditEntry, KeptAuditEntry } from "./model.ts";
import type { auditOperations } from "./operations.ts";
import type { AuditLog } from "./service.ts";

export const auditHandlers = (audit: AuditLog): Handlers<typeof auditOperations> => ({
  listAuditEntries({ caller, query }) {
    const { operation, resource, key } = query;
    const filter = { operation, resource, key, from: momentOf(query.from), to: momentOf(query.to) };
    return paged("entries", { ...query, ...filter }, (asked) => audit.page(caller, { ...asked, ...filter }), shown);
  },
});

const momentOf = (text: string | undefined) => (text === undefined ? undefined : parseTimestamp(text));

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
