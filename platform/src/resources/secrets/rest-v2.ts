/** Answers the REST v2 operations on secrets. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { Secret } from "./model.ts";
import type { secretOperations } from "./operations.ts";
import type { SecretItem, SecretService } from "./service.ts";

export const secretHandlers = (secrets: SecretService): Handlers<typeof secretOperations> => ({
  listSecrets: async ({ caller, query }) => ({ secrets: (await secrets.list(caller, query.name)).map(shown) }),
  createSecret: async ({ caller, body }) => shown(await secrets.create(caller, body)),
  getSecret: async ({ caller, params }) => shown(await secrets.get(caller, params.id!)),
  updateSecret: async ({ caller, params, body }) => shown(await secrets.update(caller, params.id!, body)),
  deleteSecret: ({ caller, params }) => secrets.remove(caller, params.id!),
});

function shown({ id, createdAt, doc }: SecretItem): Secret {
  const times = { createdAt: timestamp(createdAt), valueLastUpdatedAt: timestamp(doc.valueLastUpdatedAt) };
  return recordFrom(Secret, { id, ...doc, ...times });
}
