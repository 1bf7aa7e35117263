/** Calls for every operation on models, for the tests that call every operation. */
import type { World } from "./world.ts";

const MODELS = "/v2/installation/models";
const MODEL = { name: "org/name", folder: "/srv/model" };

const makeModel = async (world: World): Promise<string> => (await world.call("POST", MODELS, { body: MODEL })).json.id;

async function usedModel(world: World): Promise<string> {
  const id = await makeModel(world);
  const endpoint = { name: "made", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  await world.call("POST", "/v2/serverless", { body: { ...endpoint, modelReferences: ["org/name"] } });
  return id;
}

export const goodModelCalls = {
  listModels: async (world: World) => ({ id: await makeModel(world) }),
  createModel: async () => ({ body: { ...MODEL, revision: "v1", accounts: ["a"] } }),
  getModel: async (world: World) => ({ id: await makeModel(world) }),
  updateModel: async (world: World) => ({ id: await makeModel(world), body: { everyone: true } }),
  deleteModel: async (world: World) => ({ id: await makeModel(world) }),
  listUsableModels: async (world: World) => ({ id: await makeModel(world) }),
};

export const ownModelRefusals = {
  createModel: [
    [400, { body: { name: "org/name" } }],
    [404, { body: { name: "org/name", networkVolume: { id: "nothing" } } }],
  ],
  deleteModel: [[400, { id: usedModel }]],
} as const;

/** Valid bodies for calls with an id that does not exist. */
export const fittingModelBodies = { updateModel: { everyone: true } };
