/** The GraphQL schema, assembled from the parts of each resource. */
import { type DocumentNode, GraphQLObjectType, GraphQLSchema } from "graphql";
import { onceFor } from "../../kernel/once-for.ts";
import type { Operation } from "../../kernel/operation.ts";
import {
  accountFields,
  myself,
  plainUserFields,
  UpdateUserSettingsInput,
  updateUserSettings,
  userSettings,
} from "./account.ts";
import { counted } from "./answer-size.ts";
import { catalogQueries } from "./catalog.ts";
import { clusterMutations, ownClusters } from "./clusters.ts";
import { type GraphContext, type OperationFields, resolved } from "./context.ts";
import { flashApps, flashMutations, flashQueries, modelMutations, modelQueries, publicConfigs } from "./elsewhere.ts";
import { endpointMutations, ownEndpoints } from "./endpoints.ts";
import { hubQueries } from "./hub.ts";
import { isPlain, plainSchemaOf } from "./plain-schema.ts";
import { ownPods, podMutations, podQueries } from "./pods.ts";
import { registryLists, registryMutations } from "./registries.ts";
import { secretLists, secretMutations } from "./secrets.ts";
import { ownTemplates, templateMutations, templateQueries } from "./templates.ts";
import { volumeLists, volumeMutations } from "./volumes.ts";

/** The operation fields by the type that contains them. */
const graphFields = {
  Query: { ...catalogQueries, ...hubQueries, ...publicConfigs, ...podQueries, ...templateQueries },
  Mutation: {
    ...podMutations,
    ...clusterMutations,
    ...templateMutations,
    ...endpointMutations,
    ...secretMutations,
    ...registryMutations,
    ...volumeMutations,
  },
  User: {
    ...accountFields,
    ...ownPods,
    ...ownClusters,
    ...ownTemplates,
    ...ownEndpoints,
    ...secretLists,
    ...registryLists,
    ...volumeLists,
  },
} satisfies Record<string, OperationFields>;

/** Every GraphQL operation by type and field, for code that goes over all operations. */
export const graphOperations: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries({ ...graphFields, Mutation: { ...graphFields.Mutation, ...userSettings } }).flatMap(([type, fields]) =>
    Object.entries(fields).map(([name, { operation }]) => [`${type}.${name}`, operation] as const),
  ),
);

const User = new GraphQLObjectType<unknown, GraphContext>({
  name: "User",
  fields: () => ({ ...plainUserFields, ...flashApps, ...resolved(graphFields.User) }),
});

const Query = new GraphQLObjectType<unknown, GraphContext>({
  name: "Query",
  fields: () => ({
    myself: { type: User, resolve: (_source, _args, context) => myself(context) },
    ...resolved(graphFields.Query),
    ...modelQueries,
    ...flashQueries,
  }),
});

const Mutation = new GraphQLObjectType<unknown, GraphContext>({
  name: "Mutation",
  fields: () => ({
    ...resolved(graphFields.Mutation),
    ...modelMutations,
    ...flashMutations,
    updateUserSettings: {
      type: User,
      args: { input: { type: UpdateUserSettingsInput } },
      resolve: (_source, args, context) => updateUserSettings(args, context),
    },
  }),
});

const schema = new GraphQLSchema({ query: Query, mutation: Mutation });

/** It is made first, because counting changes the fields of the other. */
const plainSchema = plainSchemaOf({ Query, User });

export const graphSchema = counted(schema);

/** The schema that answers a document fastest. */
export const schemaFor = onceFor((document: DocumentNode) =>
  isPlain(document, { Query, User }) ? plainSchema : graphSchema,
);
