/** Secrets in GraphQL: create, list and delete. No answer contains a value. */
import { GraphQLID, GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import { secretDialect } from "../../resources/secrets/flat.ts";
import { secretOperations } from "../../resources/secrets/operations.ts";
import type { NewSecret, SecretItem } from "../../resources/secrets/service.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { all, given, inputFields, listOf, outputFields, text } from "./fields.ts";
import { change, lookup } from "./operations.ts";
import { DateTime, Void } from "./scalars.ts";

const Secret = new GraphQLObjectType<Record<string, unknown>, GraphContext>({
  name: "Secret",
  fields: {
    ...all(text, "id"),
    ...outputFields(secretDialect),
    ...all(DateTime, "createdAt", "updatedAt", "lastUpdatedAt", "lastRetrievedAt"),
  },
});

const SecretCreateInput = new GraphQLInputObjectType({ name: "SecretCreateInput", fields: inputFields(secretDialect) });

/** Millrace does not record when a boot last read a secret. */
function shown({ id, createdAt, doc }: SecretItem) {
  const { valueLastUpdatedAt: at } = doc;
  return { id, ...secretDialect.of(doc), createdAt, updatedAt: at, lastUpdatedAt: at };
}

export const secretLists = {
  secrets: {
    type: listOf(Secret),
    operation: lookup(secretOperations.listSecrets),
    answer: async ({ caller }, { services }) => (await services.secrets.list(caller)).map(shown),
  },
} satisfies OperationFields;

export const secretMutations = {
  secretCreate: {
    type: Secret,
    args: { input: { type: SecretCreateInput } },
    operation: change(secretOperations.createSecret, secretDialect.create),
    body: ({ input }) => given(input),
    answer: async ({ caller, body }, { services }) =>
      shown(await services.secrets.create(caller, secretDialect.terms(body) as NewSecret)),
  },
  secretDelete: {
    type: Void,
    args: { id: { type: GraphQLID } },
    operation: change(secretOperations.deleteSecret),
    params: ({ id }) => ({ id: id ?? "" }),
    answer: ({ caller, params }, { services }) => services.secrets.remove(caller, params.id!),
  },
} satisfies OperationFields;
