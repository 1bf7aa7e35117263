/** Operations on secrets. */
import { MIB, type Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { t } from "../../kernel/schema.ts";
import { Secret } from "./model.ts";

/** A JSON escape may take six bytes for one byte of value, and a value may have 16 MiB. */
const bodyLimit = 97 * MIB;

const on = operationsOn(Secret, "/v2/account/secrets", {
  tag: "Account",
  scope: "secrets",
  one: "a secret",
  many: "secrets",
});

const named = t.Object({
  name: t.Optional(t.String({ maxLength: 191, description: "Only the secret with this name, compared without case." })),
});

export const secretOperations = {
  listSecrets: on.find({ query: named }),
  createSecret: on.create({ refuses: ["name-taken"], bodyLimit }),
  getSecret: on.get(),
  updateSecret: on.update({
    description:
      "Changes only the fields sent. With both, the value is applied first and the description second, as two writes: if the " +
      "second fails, the answer is an error although the new value is already in effect. Pods and workers receive a new value " +
      "at their next boot.",
    bodyLimit,
  }),
  deleteSecret: on.remove({
    description: "Environment variables that refer to it no longer resolve at the next boot.",
  }),
} satisfies Operations;
