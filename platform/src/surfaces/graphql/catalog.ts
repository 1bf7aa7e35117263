/** The catalog by GraphQL, which anybody may read. */
import { GraphQLObjectType } from "graphql";
import { flatGpuTypes } from "../../resources/catalog/flat-view.ts";
import { catalogOperations } from "../../resources/catalog/operations.ts";
import type { OperationFields } from "./context.ts";
import { all, int, listOf, text } from "./fields.ts";
import { lookup } from "./operations.ts";

export const GpuType = new GraphQLObjectType({
  name: "GpuType",
  fields: { ...all(text, "id", "displayName", "manufacturer"), ...all(int, "memoryInGb") },
});

export const catalogQueries = {
  gpuTypes: {
    type: listOf(GpuType),
    operation: lookup(catalogOperations.listGpuTypes),
    answer: async () => flatGpuTypes(),
  },
} satisfies OperationFields;
