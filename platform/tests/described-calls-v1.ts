/** A call that succeeds for every operation of REST v1. */
import { idle } from "./idle.ts";
import { giveVolumesAPlace, putVolume } from "./volume-doc.ts";
import type { World } from "./world.ts";

interface GoodCall {
  /** The id for the path. */
  id?: string;
  body?: object;
  query?: string;
}

const make = async (world: World, path: string, body: object): Promise<string> => {
  const { json } = await world.call("POST", `/v1/${path}`, { body });
  await idle();
  return json.id;
};

const POD = { name: "made", imageName: "busybox", computeType: "CPU", cpuFlavorIds: ["cpu3c"], env: { A: "1" } };
const TEMPLATE = { name: "made", imageName: "busybox", isServerless: true };
const AUTH = { name: "made", username: "u", password: "p" };
const VOLUME = { name: "models", size: 50, dataCenterId: "EU-RO-1" };

const pod = (world: World) => make(world, "pods", POD);
const template = (world: World) => make(world, "templates", TEMPLATE);
const auth = (world: World) => make(world, "containerregistryauth", AUTH);
const endpoint = async (world: World) => make(world, "endpoints", { templateId: await template(world), name: "made" });

async function stoppedPod(world: World): Promise<string> {
  const id = await pod(world);
  await world.call("POST", `/v1/pods/${id}/stop`);
  await idle();
  return id;
}

const EVERYTHING = "?includeMachine=true&includeNetworkVolume=true&includeSavingsPlans=true&includeTemplate=true";

const on =
  (made: (world: World) => Promise<string>, more: Omit<GoodCall, "id"> = {}) =>
  async (world: World) => ({
    id: await made(world),
    ...more,
  });
const rename = { body: { name: "other" } };

export const goodV1: Record<string, (world: World) => Promise<GoodCall>> = {
  listPods: on(pod, { query: `${EVERYTHING}&includeWorkers=true` }),
  createPod: async () => ({ body: POD }),
  getPod: on(pod, { query: EVERYTHING }),
  updatePod: on(pod, rename),
  updatePodByPost: on(pod, rename),
  deletePod: on(pod),
  startPod: on(stoppedPod),
  resumePod: on(stoppedPod),
  stopPod: on(pod),
  restartPod: on(pod),
  resetPod: on(pod),
  listEndpoints: on(endpoint, { query: "?includeTemplate=true&includeWorkers=true" }),
  createEndpoint: async (world) => ({ body: { templateId: await template(world), gpuTypeIds: ["NVIDIA L4"] } }),
  getEndpoint: on(endpoint, { query: "?includeTemplate=true&includeWorkers=true" }),
  updateEndpoint: on(endpoint, { body: { workersMax: 2 } }),
  updateEndpointByPost: on(endpoint, { body: { workersMax: 2 } }),
  deleteEndpoint: on(endpoint),
  listTemplates: on(template, { query: "?includePublicTemplates=true&includeRunpodTemplates=true" }),
  createTemplate: async () => ({ body: TEMPLATE }),
  getTemplate: on(template),
  updateTemplate: on(template, rename),
  updateTemplateByPost: on(template, rename),
  deleteTemplate: on(template),
  listNetworkVolumes: on(putVolume),
  createNetworkVolume: async (world) => {
    giveVolumesAPlace(world);
    return { body: VOLUME };
  },
  getNetworkVolume: on(putVolume),
  updateNetworkVolume: on(putVolume, rename),
  updateNetworkVolumeByPost: on(putVolume, rename),
  deleteNetworkVolume: on(putVolume),
  listContainerRegistryAuths: on(auth),
  createContainerRegistryAuth: async () => ({ body: AUTH }),
  getContainerRegistryAuth: on(auth),
  deleteContainerRegistryAuth: on(auth),
  podBilling: on(pod),
  endpointBilling: on(endpoint),
  networkVolumeBilling: on(putVolume),
};
