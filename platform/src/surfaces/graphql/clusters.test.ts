/** Instant Clusters in GraphQL. */
import { expect, test } from "vitest";
import { ask } from "../../../tests/graphql.ts";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const CREATE = `mutation ($input: CreateClusterInput) { createCluster(input: $input) {
  id name type podCount gpuCountPerPod pods { id name clusterId clusterIdx machineId }
} }`;
const INPUT = {
  ...{ clusterName: "train", type: "TRAINING", gpuTypeId: "NVIDIA A40", podCount: 2, gpuCountPerPod: 1 },
  ...{ imageName: "host:/app", deployCost: 10 },
};

test("members are there with the cluster, also among the account's Pods", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { createCluster: made } = await told(world, CREATE, { input: INPUT });
  expect(made).toMatchObject({
    ...{ name: "train", type: "TRAINING", podCount: 2, gpuCountPerPod: 1 },
    pods: [
      { name: "train-0", clusterId: made.id, clusterIdx: 0 },
      { name: "train-1", clusterId: made.id, clusterIdx: 1 },
    ],
  });
  const { myself } = await told(world, "{ myself { clusters { id pods { id } } pods { clusterId } } }");
  expect(myself.clusters).toEqual([{ id: made.id, pods: made.pods.map(({ id }: { id: string }) => ({ id })) }]);
  expect(myself.pods).toEqual([{ clusterId: made.id }, { clusterId: made.id }]);
});

test("what is sent beside a template wins over what the template has", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const template = { name: "t", image: "host:/app", disk: 7, env: { A: "template", B: "template" } };
  const { id: templateId } = (await world.call("POST", "/v2/templates", { body: template })).json;
  const { imageName: _, ...rest } = INPUT;
  const own = { containerDiskInGb: 9, env: [{ key: "B", value: "own" }], volumeMountPath: "/workspace" };
  const { createCluster: made } = await told(world, CREATE, { input: { ...rest, templateId, ...own } });
  const env = expect.objectContaining({ A: "template", B: "own" });
  expect(await world.pod(made.pods[0].id)).toMatchObject({ image: "host:/app", disk: 9, env });
});

test("one that costs more than is to be paid, or has no room, is not made", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const dear = await refused(world, CREATE, { input: { ...INPUT, deployCost: 0.1 } });
  expect(dear).toMatchObject({
    message: expect.stringContaining("no longer any instances available"),
    extensions: { code: "SUPPLY_CONSTRAINT", reason: expect.stringContaining("USD per hour, and 0.1 at most") },
  });
  const large = await refused(world, CREATE, { input: { ...INPUT, podCount: 3 } });
  expect(large.extensions.code).toBe("SUPPLY_CONSTRAINT");
  expect((await told(world, "{ myself { clusters { id } pods { id } } }")).myself).toEqual({ clusters: [], pods: [] });
});

test("what is missing or too much is said before anything is made", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { gpuTypeId: _, ...rest } = INPUT;
  expect((await refused(world, CREATE, { input: rest })).message).toContain("gpuTypeId");
  expect((await refused(world, CREATE, { input: { ...INPUT, podCount: 1 } })).message).toContain("podCount");
  const missing = { clusterName: "property 'clusterName' is required", imageName: "property 'imageName' is required" };
  for (const [name, message] of Object.entries(missing))
    expect((await refused(world, CREATE, { input: { ...INPUT, [name]: "" } })).message).toContain(message);
  const { status } = await ask(world, CREATE, { variables: { input: { ...INPUT, containerRegistryAuthId: "r" } } });
  expect(status).toBe(400);
});

test("another account's cluster is null to read, and not found to delete", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { createCluster: made } = await told(world, CREATE, { input: INPUT });
  const key = await world.strangersKey();
  const read = await ask(world, `{ myself { cluster(input: {id: "${made.id}"}) { id } } }`, { key });
  expect(read.json).toEqual({ data: { myself: { cluster: null } } });
  const removed = await ask(world, `mutation { deleteCluster(input: {id: "${made.id}"}) }`, { key });
  expect(removed.json.errors[0]).toMatchObject({ extensions: { code: "Cluster not found" } });
});
