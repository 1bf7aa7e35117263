/** The types of templates and the inputs for saving them. */
import { GraphQLInputObjectType, GraphQLList, GraphQLObjectType } from "graphql";
import { templateDialect } from "../../resources/templates/flat.ts";
import type { GraphContext } from "./context.ts";
import { all, allIn, flag, float, inputFields, int, listOf, outputFields, text } from "./fields.ts";
import { variables } from "./pod-input-types.ts";
import { Json } from "./scalars.ts";

export const EnvironmentVariable = new GraphQLObjectType({
  name: "EnvironmentVariable",
  fields: all(text, "key", "value"),
});

const PortLabel = new GraphQLObjectType({ name: "PortConfig", fields: all(text, "port", "name") });
const PortLabelInput = new GraphQLInputObjectType({ name: "PortConfigInput", fields: allIn(text, "port", "name") });

export type TemplateRow = Readonly<Record<string, unknown>> & { id: string };

export const PodTemplate = new GraphQLObjectType<TemplateRow, GraphContext>({
  name: "PodTemplate",
  fields: {
    ...outputFields(templateDialect, {
      odd: { env: listOf(EnvironmentVariable), ports: text, portsConfig: listOf(PortLabel) },
    }),
    ...all(text, "id", "boundEndpointId", "userId"),
    ...all(flag, "isRunpod", "advancedStart"),
    runtimeInMin: { type: int },
    earned: { type: float },
    config: { type: Json },
  },
});

const saved = {
  ...inputFields(templateDialect, {
    odd: { env: variables, ports: text, portsConfig: new GraphQLList(PortLabelInput) },
  }),
  id: { type: text },
  advancedStart: { type: flag },
  config: { type: Json },
};

export const SaveTemplateInput = new GraphQLInputObjectType({ name: "SaveTemplateInput", fields: saved });

/** The input for a template that is sent along with an endpoint. */
export const EndpointTemplateInput = new GraphQLInputObjectType({ name: "PodTemplateInputBase", fields: saved });

export const PodTemplateInput = new GraphQLInputObjectType({
  name: "PodTemplateInput",
  fields: { ...allIn(flag, "isRunpod", "isServerless"), name: { type: text } },
});
