/** Network volumes in GraphQL. */
import { GraphQLInputObjectType, GraphQLObjectType } from "graphql";
import { knownDataCenter } from "../../resources/catalog/flat-view.ts";
import { networkVolumeDialect } from "../../resources/volumes/flat.ts";
import { NetworkVolume as Model } from "../../resources/volumes/model.ts";
import { networkVolumeOperations } from "../../resources/volumes/operations.ts";
import type { VolumeItem } from "../../resources/volumes/service.ts";
import { DataCenter } from "./catalog.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { all, allIn, given, inputFields, listOf, outputFields, text } from "./fields.ts";
import { change, lookup } from "./operations.ts";
import { Void } from "./scalars.ts";

type FlatVolume = { id: string; dataCenterId: string } & Record<string, unknown>;

export const NetworkVolume = new GraphQLObjectType<FlatVolume, GraphContext>({
  name: "NetworkVolume",
  fields: () => ({
    ...all(text, "id"),
    ...outputFields(networkVolumeDialect),
    dataCenter: {
      type: DataCenter,
      resolve: ({ dataCenterId }) => knownDataCenter(dataCenterId),
    },
  }),
});

const CreateNetworkVolumeInput = new GraphQLInputObjectType({
  name: "CreateNetworkVolumeInput",
  fields: inputFields(networkVolumeDialect),
});

/** The data center and the type of a volume cannot change. */
const fixed = { dataCenterId: null, type: null };

const UpdateNetworkVolumeInput = new GraphQLInputObjectType({
  name: "UpdateNetworkVolumeInput",
  fields: { ...allIn(text, "id"), ...inputFields(networkVolumeDialect, { odd: fixed }) },
});

const DeleteNetworkVolumeInput = new GraphQLInputObjectType({
  name: "DeleteNetworkVolumeInput",
  fields: allIn(text, "id"),
});

const shown = ({ id, doc }: VolumeItem) => ({ id, ...networkVolumeDialect.of(doc) });

const idIn = ({ input }: { input?: { id?: string | null } | null }) => ({ id: input?.id ?? "" });

export const volumeLists = {
  networkVolumes: {
    type: listOf(NetworkVolume),
    operation: lookup(networkVolumeOperations.listNetworkVolumes),
    answer: async ({ caller }, { services }) => (await services.volumes.list(caller)).map(shown),
  },
} satisfies OperationFields;

/** Finds the volume that a Pod or an endpoint names. The account's volumes are read once per request, however many ask. */
export async function volumeNamed(id: unknown, context: GraphContext): Promise<FlatVolume | null> {
  if (typeof id !== "string") return null;
  const all = await context.once("volumes by id", async () => {
    const found = await context.performOnce("networkVolumes", volumeLists.networkVolumes);
    return new Map(found.map((volume) => [volume.id, volume as FlatVolume]));
  });
  return all.get(id) ?? null;
}

export const volumeMutations = {
  createNetworkVolume: {
    type: NetworkVolume,
    args: { input: { type: CreateNetworkVolumeInput } },
    operation: change(networkVolumeOperations.createNetworkVolume, networkVolumeDialect.create),
    body: ({ input }) => given(input, "type"),
    answer: async ({ caller, body }, { services }) =>
      shown(await services.volumes.create(caller, networkVolumeDialect.terms(body), { uniqueName: true })),
  },
  updateNetworkVolume: {
    type: NetworkVolume,
    args: { input: { type: UpdateNetworkVolumeInput } },
    operation: change(networkVolumeOperations.updateNetworkVolume, Model.update),
    params: idIn,
    body: ({ input: { id: _, ...set } = { id: "" } }) => given(set),
    answer: async ({ caller, params, body }, { services }) =>
      shown(await services.volumes.update(caller, params.id!, body, { uniqueName: true })),
  },
  deleteNetworkVolume: {
    type: Void,
    args: { input: { type: DeleteNetworkVolumeInput } },
    operation: change(networkVolumeOperations.deleteNetworkVolume),
    params: idIn,
    answer: ({ caller, params }, { services }) => services.volumes.remove(caller, params.id!),
    literal: ({ code }) =>
      code === "not-found" ? { message: "Tried to delete nonexistent network volume" } : undefined,
  },
} satisfies OperationFields;
