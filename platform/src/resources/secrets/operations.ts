/** Operations on secrets. */
import { MIB, type Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { Secret } from "./model.ts";

const tag = "Account";

/** A JSON escape may take six bytes for one byte of value, and a value may have 16 MiB. */
const SECRET_BODY_LIMIT = 97 * MIB;

export const secretOperations = {
  listSecrets: {
    method: "GET",
    path: "/v2/account/secrets",
    summary: "List secrets",
    tag,
    query: t.Object({
      name: t.Optional(
        t.String({ maxLength: 191, description: "Only the secret with this name, compared without case." }),
      ),
    }),
    out: t.Object({ secrets: t.Array(Secret.record) }),
    status: 200,
    scope: "secrets:read",
    narrowed: "refused",
  },
  createSecret: {
    method: "POST",
    path: "/v2/account/secrets",
    summary: "Create a secret",
    tag,
    in: Secret.create,
    out: Secret.record,
    status: 201,
    scope: "secrets:write",
    narrowed: "refused",
    refuses: ["name-taken"],
    bodyLimit: SECRET_BODY_LIMIT,
  },
  getSecret: {
    method: "GET",
    path: "/v2/account/secrets/{id}",
    summary: "Get a secret",
    tag,
    out: Secret.record,
    status: 200,
    scope: "secrets:read",
    narrowed: "refused",
  },
  updateSecret: {
    method: "PATCH",
    path: "/v2/account/secrets/{id}",
    summary: "Update a secret",
    description:
      "Changes only the fields sent. With both, the value is applied first and the description second, as two writes: if the " +
      "second fails, the answer is an error although the new value is already in effect. Pods and workers receive a new value " +
      "at their next boot.",
    tag,
    in: Secret.update,
    out: Secret.record,
    status: 200,
    scope: "secrets:write",
    narrowed: "refused",
    bodyLimit: SECRET_BODY_LIMIT,
  },
  deleteSecret: {
    method: "DELETE",
    path: "/v2/account/secrets/{id}",
    summary: "Delete a secret",
    description: "Environment variables that refer to it no longer resolve at the next boot.",
    tag,
    status: 204,
    scope: "secrets:write",
    narrowed: "refused",
  },
} as const satisfies Operations;
