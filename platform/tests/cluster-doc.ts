/** Clusters for tests that need one on record, with or without members. */
import { Collection } from "../src/ports/store/collection.ts";
import { clusters } from "../src/resources/clusters/model.ts";
import { idle } from "./idle.ts";
import { putPod } from "./pod-doc.ts";
import type { World } from "./world.ts";

const CLUSTER_ID = "thisisacluster";

/** The machine must have these for the clusters below. */
export const CLUSTER_GPUS = { capacity: { gpus: [{ type: "NVIDIA L4", count: 4, virtual: false }] } };

const compute = { gpuTypeId: "NVIDIA L4", gpuCountPerPod: 1, podCount: 2 };

export const CLUSTER = { name: "made", type: "APPLICATION", image: "busybox", compute };

/** Makes a cluster that runs on a machine with GPUs. */
export async function makeCluster(world: World): Promise<string> {
  const { json } = await world.call("POST", "/v2/clusters", { body: CLUSTER });
  await idle();
  return json.id;
}

export async function memberOf(world: World, cluster: string): Promise<string> {
  return (await world.call("GET", `/v2/clusters/${cluster}/pods`)).json.pods[0].id;
}

/** Puts a cluster on record only, with one member. */
export async function putCluster(world: World, name: string): Promise<string> {
  const doc = {
    name,
    type: "APPLICATION" as const,
    compute,
    template: null,
    dataCenter: "US-KS-2",
    range: "10.1.2.0/24",
  };
  const record = { id: CLUSTER_ID, account: world.owner.account, createdAt: world.clock.now() };
  await new Collection(world.store, clusters).insert({ ...record, doc });
  const cluster = { id: CLUSTER_ID, rank: 0, members: 2, gpusEach: 1, role: null };
  await putPod(world, { name, cluster }, "thisisamember1");
  return CLUSTER_ID;
}

export const goodClusterCalls = {
  listClusters: async (world: World) => ({ id: await makeCluster(world) }),
  createCluster: async () => ({ body: CLUSTER }),
  getCluster: async (world: World) => ({ id: await makeCluster(world) }),
  updateCluster: async (world: World) => ({ id: await makeCluster(world), body: { name: "other" } }),
  deleteCluster: async (world: World) => ({ id: await makeCluster(world) }),
  listClusterPods: async (world: World) => ({ id: await makeCluster(world) }),
};
