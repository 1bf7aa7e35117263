/** Entries of the audit log: who changed what in an account, when, from where, and with what outcome. */
import type { Kept } from "../../kernel/document.ts";
import { dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

const actorTypes = ["key", "person", "pod", "worker", "cli", "system"] as const;
const auditOutcomes = ["done", "refused", "failed", "unknown"] as const;

export const AuditEntry = t.Object(
  {
    id: t.String({ description: "Unique entry identifier." }),
    at: dateTime("When it began."),
    actor: t.Object(
      {
        type: oneOf(actorTypes, {
          description:
            "An API key, a person who is signed in, a Pod with its own key, a worker with its own, the command line on the server's machine, or Millrace by itself.",
        }),
        id: nullable(t.String({ description: "Of the key, of the person, of the Pod, or of the worker's endpoint." })),
        name: nullable(t.String({ description: "What the key was called, or the email address of the person." })),
      },
      { description: "Who did it." },
    ),
    operation: t.String({ description: "What was asked for, such as `createPod`." }),
    action: nullable(
      t.String({ description: "Which of its actions, where the operation has several, such as `stop`." }),
    ),
    resource: nullable(
      t.Object({
        type: t.String({ description: "Its word in the paths of the API, such as `pods`." }),
        id: nullable(t.String({ description: "Null where it is not known, or where there is one for each account." })),
      }),
    ),
    address: nullable(t.String({ description: "Where the request came from: the other end of its connection." })),
    userAgent: nullable(t.String({ description: "What the client called itself, its first 200 characters." })),
    fields: t.Array(t.String(), { description: "Names of the fields that were sent. No value is ever kept." }),
    outcome: oneOf(auditOutcomes, {
      description:
        "`unknown`: it began, and the server ended before it did. `failed` and `refused` with something changed are kept, and " +
        "refusals for a lack of rights.",
    }),
    reason: nullable(t.String({ description: "What a refusal or failure means, or why Millrace did it." })),
  },
  { $id: "AuditEntry" },
);
export type AuditEntry = Static<typeof AuditEntry>;

export type Actor = { type: (typeof actorTypes)[number]; id?: string; name?: string };

export type KeptAuditEntry = {
  /** The account again, because the list keys below begin with it. It keeps a search within the entries of one account. */
  account: string;
  actor: Actor;
  operation: string;
  action?: string;
  resource?: { type: string; id?: string };
  address?: string;
  userAgent?: string;
  fields: string[];
  outcome: (typeof auditOutcomes)[number];
  reason?: string;
};

export const auditEntries: Kept<KeptAuditEntry> = {
  kind: "audit-entry",
  v: 1,
  listed: ({ account, operation, actor, resource }) => ({
    operation: `${account} ${operation}`,
    key: actor.id && `${account} ${actor.id}`,
    resource: resource?.id && `${account} ${resource.id}`,
  }),
};
