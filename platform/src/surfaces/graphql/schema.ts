/** The GraphQL schema, gathered from the parts that its resources give to it. */
import { GraphQLObjectType, GraphQLSchema } from "graphql";
import { accountFields, myself, ownIdentity } from "./account.ts";
import { catalogQueries } from "./catalog.ts";
import { clusterMutations, ownClusters } from "./clusters.ts";
import { type GraphContext, type OperationFields, resolved } from "./context.ts";
import { ownPods, podMutations, podQueries } from "./pods.ts";
import { ownTemplates, templateMutations, templateQueries } from "./templates.ts";

/** Fields that are operations, by the type that they stand in: whatever walks over all operations walks over these. */
export const graphFields = {
  Query: { ...catalogQueries, ...podQueries, ...templateQueries },
  Mutation: { ...podMutations, ...clusterMutations, ...templateMutations },
  User: { ...accountFields, ...ownPods, ...ownClusters, ...ownTemplates },
} satisfies Record<string, OperationFields>;

const User = new GraphQLObjectType<unknown, GraphContext>({
  name: "User",
  fields: () => ({ ...ownIdentity, ...resolved(graphFields.User) }),
});

const Query = new GraphQLObjectType<unknown, GraphContext>({
  name: "Query",
  fields: () => ({
    myself: { type: User, resolve: (_source, _args, context) => myself(context) },
    ...resolved(graphFields.Query),
  }),
});

const Mutation = new GraphQLObjectType<unknown, GraphContext>({
  name: "Mutation",
  fields: () => resolved(graphFields.Mutation),
});

export const graphSchema = new GraphQLSchema({ query: Query, mutation: Mutation });
