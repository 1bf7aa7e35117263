/** Makes a document for every GraphQL operation from the schema, so that new operations are covered by themselves. */
import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isInputObjectType,
  isObjectType,
} from "graphql";
import { graphOperations, graphSchema } from "../src/surfaces/graphql/schema.ts";

export interface Document {
  query: string;
  variables: Record<string, unknown>;
}

/** Arguments that name an existing thing. */
const IDS = /^(id|podId|endpointId|registryAuthId|templateName)$/;

/** Further input that is needed, so that only the caller is wrong. */
const SAID: Record<string, object> = {
  secretCreate: { name: "s", value: "v" },
  saveRegistryAuth: { name: "r", username: "u", password: "p" },
  updateRegistryAuth: { username: "u", password: "p" },
  createNetworkVolume: { name: "v", size: 10, dataCenterId: "EU-RO-1" },
  updateNetworkVolume: { name: "taken over" },
  podFindAndDeployOnDemand: { name: "p", imageName: "busybox", gpuTypeId: "NVIDIA L4", gpuCount: 1 },
  podRentInterruptable: { name: "p", imageName: "busybox", gpuTypeId: "NVIDIA L4", gpuCount: 1, bidPerGpu: 1 },
  deployCpuPod: { name: "p", imageName: "busybox", instanceId: "cpu3c-2-4" },
  podEditJob: { imageName: "busybox" },
  createCluster: {
    ...{ clusterName: "c", gpuTypeId: "NVIDIA L4", podCount: 2, gpuCountPerPod: 1, imageName: "busybox" },
    ...{ type: "TRAINING", deployCost: 100 },
  },
  saveTemplate: { name: "t", imageName: "busybox", containerDiskInGb: 5 },
  saveEndpoint: { name: "e", gpuIds: "AMPERE_16", workersMax: 1 },
  updateEndpointTemplate: { templateId: "zzzzzzzzzz" },
  updateUserSettings: { pubKey: "ssh-ed25519 AAAA me" },
  "updateUserSettings notices": { notifyOther: true },
};

/** Operations that create something if no id is given. */
const MAKES = /^(save|create|secretCreate|podFind|podRent|deploy)/;

/** Makes a request for one operation. `id` is used wherever an existing thing is named. */
export function documentFor(operation: string, id: string | undefined): Document {
  const [type = "", name = ""] = operation.split(".");
  const fieldName = name.split(" ")[0]!;
  const owner = graphSchema.getType(type) as GraphQLObjectType;
  const field = owner.getFields()[fieldName]!;
  const variables = Object.fromEntries(
    field.args.map((arg) => [
      arg.name,
      said(arg, MAKES.test(name) && id === undefined ? undefined : (id ?? "zzzzzzzzzzzzzz"), name),
    ]),
  );
  const declared = field.args.map(({ name: arg, type: of }) => `$${arg}: ${of}`).join(", ");
  const used = field.args.map(({ name: arg }) => `${arg}: $${arg}`).join(", ");
  const asked = `${fieldName}${used && `(${used})`}${isObjectType(getNamedType(field.type)) ? " { __typename }" : ""}`;
  const body = type === "User" ? `myself { ${asked} }` : asked;
  return {
    query: `${type === "Mutation" ? "mutation" : "query"}${declared && ` (${declared})`} { ${body} }`,
    variables,
  };
}

function said({ name, type }: GraphQLArgument, id: string | undefined, field: string): unknown {
  return isInputObjectType(type) ? { ...idsIn(type, id), ...SAID[field] } : IDS.test(name) ? id : undefined;
}

function idsIn(type: GraphQLInputType, id: string | undefined): object {
  if (!isInputObjectType(type)) return {};
  const named = Object.keys(type.getFields()).filter((name) => IDS.test(name));
  return id === undefined ? {} : Object.fromEntries(named.map((name) => [name, id]));
}

export const operationNames = Object.keys(graphOperations);

/** Selects every field of a type, down to this depth. Fields with arguments are asked for without any. */
export function allOf(type: GraphQLOutputType, deep: number): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return "";
  const fields = Object.values(named.getFields()).flatMap((field) => {
    if (!isObjectType(getNamedType(field.type))) return [field.name];
    const within = deep > 0 ? allOf(field.type, deep - 1) : "";
    return within === "" ? [] : [`${field.name} ${within}`];
  });
  return fields.length === 0 ? "" : `{ ${fields.join(" ")} }`;
}
