/** Operations on the audit log of an account. */

import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { dateTime, name, t } from "../../kernel/schema.ts";
import { AuditEntry } from "./model.ts";

export const auditOperations = {
  listAuditEntries: {
    method: "GET",
    path: "/v2/account/audit",
    summary: "List what was changed, by whom",
    description:
      "Newest first. With several filters a page may have fewer entries than asked for, or none, and still not be the last.",
    tag: "Account",
    status: 200,
    scope: "account:read",
    narrowed: "refused",
    query: t.Object({
      ...pageQuery,
      from: t.Optional(dateTime("Not those before.")),
      to: t.Optional(dateTime("Those before.")),
      operation: t.Optional(name({ description: "Such as `createPod`." })),
      resource: t.Optional(name({ description: "Id of what was changed." })),
      key: t.Optional(name({ description: "Id of the key, of the Pod, or of the worker's endpoint, that did it." })),
    }),
    out: t.Object({ entries: t.Array(AuditEntry), pagination: Pagination }),
  },
} as const satisfies Operations;
