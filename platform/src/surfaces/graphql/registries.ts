/** Registries in GraphQL, which calls them registry auths. */
import { GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import { closed } from "../../kernel/schema.ts";
import { registryDialect } from "../../resources/registries/flat.ts";
import { Registry } from "../../resources/registries/model.ts";
import { registryOperations } from "../../resources/registries/operations.ts";
import type { RegistryItem } from "../../resources/registries/service.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { all, allIn, flag, given, inputFields, listOf, outputFields, text } from "./fields.ts";
import { change, lookup } from "./operations.ts";

const ContainerRegistryAuth = new GraphQLObjectType<Record<string, unknown>, GraphContext>({
  name: "ContainerRegistryAuth",
  fields: {
    ...all(text, "id", "userId"),
    ...outputFields(registryDialect),
    // The credentials are never shown.
    registryAuth: { type: text, resolve: () => null },
  },
});

const SaveRegistryAuthInput = new GraphQLInputObjectType({
  name: "SaveRegistryAuthInput",
  fields: inputFields(registryDialect),
});

const UpdateRegistryAuthInput = new GraphQLInputObjectType({
  name: "UpdateRegistryAuthInput",
  fields: { ...allIn(text, "id"), ...inputFields(registryDialect, { odd: { name: null } }) },
});

const { username, password } = Registry.create.properties;

const shown = ({ id, account, doc }: RegistryItem) => ({ id, userId: account, ...registryDialect.of(doc) });

export const registryLists = {
  containerRegistryCreds: {
    type: listOf(ContainerRegistryAuth),
    operation: lookup(registryOperations.listRegistries),
    // Oldest first, since clients that clean up begin with the first.
    answer: async ({ caller }, { services }) => (await services.registries.list(caller)).map(shown).reverse(),
  },
} satisfies OperationFields;

export const registryMutations = {
  saveRegistryAuth: {
    type: ContainerRegistryAuth,
    args: { input: { type: SaveRegistryAuthInput } },
    operation: change(registryOperations.createRegistry, registryDialect.create),
    body: ({ input }) => given(input),
    answer: async ({ caller, body }, { services }) =>
      shown(await services.registries.create(caller, registryDialect.terms(body))),
  },
  updateRegistryAuth: {
    type: ContainerRegistryAuth,
    args: { input: { type: UpdateRegistryAuthInput } },
    operation: { ...change(registryOperations.deleteRegistry, closed({ username, password })), method: "PATCH" },
    params: ({ input }) => ({ id: input?.id ?? "" }),
    body: ({ input: { id: _, ...credential } = { id: "" } }) => given(credential),
    answer: async ({ caller, params, body }, { services }) =>
      shown(await services.registries.rotate(caller, params.id!, body)),
  },
  deleteRegistryAuth: {
    type: flag,
    args: { registryAuthId: { type: text } },
    operation: change(registryOperations.deleteRegistry),
    params: ({ registryAuthId }) => ({ id: registryAuthId ?? "" }),
    answer: async ({ caller, params }, { services }) => {
      await services.registries.remove(caller, params.id!);
      return true;
    },
  },
} satisfies OperationFields;
