/** The documents that runpod-go-sdk, Pod editors and documentation samples send for Pods and endpoints. */
import { expect, test } from "vitest";
import { told } from "../../../tests/graphql-calls.ts";
import { CPU_POD, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

test.each(["PodFilter", "PodFilter!"])("runpod-go-sdk reads a Pod by a variable of type %s", async (type) => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ name: "p", image: "host:/app", gpu: { id: "NVIDIA A40" } });
  await world.pass(5);
  const query = `query getPod($input: ${type}) { pod(input: $input) {
    id name desiredStatus lastStartedAt runtime { uptimeInSeconds ports { ip isIpPublic privatePort publicPort type } }
    latestTelemetry { state time }
  } }`;
  expect((await told(world, query, { input: { podId: id } })).pod).toMatchObject({
    id,
    desiredStatus: "RUNNING",
    lastStartedAt: "2026-01-01T00:00:00.000Z",
    runtime: { uptimeInSeconds: 5, ports: [] },
    latestTelemetry: { state: "running", time: expect.any(String) },
  });
});

test("an editor changes what it names of a Pod that runs, and nothing else", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const body = { name: "p", image: "host:/app", gpu: { id: "NVIDIA A40" }, env: { A: "b" }, args: "sleep 1" };
  const { id } = await world.create({ ...body, mounts: { persistent: { size: 20, path: "/workspace" } } });
  const query = `mutation edit($input: PodEditJobInput!) { podEditJob(input: $input) {
    id imageName ports env dockerArgs containerDiskInGb volumeInGb volumeMountPath
  } }`;
  const { podEditJob } = await told(world, query, {
    input: { podId: id, ports: "80/http,22/tcp", env: [{ key: "C", value: "d" }], volumeInGb: 30 },
  });
  expect(podEditJob).toEqual({
    id,
    imageName: "host:/app",
    ports: "80/http,22/tcp",
    env: ["C=d"],
    dockerArgs: "sleep 1",
    containerDiskInGb: 20,
    volumeInGb: 30,
    volumeMountPath: "/workspace",
  });
});

test("an editor that sends everything empties what can be emptied, and says nothing by other empty texts", async () => {
  await using world = await setupPods();
  const { id } = await world.create({ ...CPU_POD, env: { A: "b" }, args: "sleep 1", ports: ["80/http"] });
  const query = `mutation edit($input: PodEditJobInput!) { podEditJob(input: $input) { imageName ports env dockerArgs } }`;
  const input = {
    podId: id,
    imageName: "",
    ports: "",
    env: [],
    dockerArgs: "",
    volumeMountPath: "",
    containerDiskInGb: null,
  };
  expect((await told(world, query, { input })).podEditJob).toEqual({
    ...{ imageName: "host:/app", ports: "80/http", env: [], dockerArgs: "" },
  });
});

test("documentation asks which workers endpoints have, and for a discount that there is none of", async () => {
  await using world = await setupPods();
  await world.call("POST", "/v2/serverless", {
    body: { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  const query =
    "query { myself { endpoints { pods { desiredStatus } } serverlessDiscount { discountFactor type expirationDate } } }";
  expect(await told(world, query)).toEqual({ myself: { endpoints: [{ pods: [] }], serverlessDiscount: null } });
});

test("workers of an endpoint are its Pods, with all that a Pod always has", async () => {
  await using world = await setupPods();
  const body = { name: "e", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }], workers: { min: 1, max: 1 } };
  const { json: endpoint } = await world.call("POST", "/v2/serverless", { body });
  await world.pass(3);
  const fields = `id name imageName machineId desiredStatus costPerHr adjustedCostPerHr gpuCount gpuPowerLimitPercent gpus { id }
    memoryInGb vcpuCount volumeEncrypted aiApiId slsVersion runtime { ports { ip } } machine { podHostId } endpoint { id name }`;
  const { endpoints } = (await told(world, `{ myself { endpoints { pods { ${fields} } } pods { id } } }`)).myself;
  expect(endpoints[0].pods).toEqual([
    expect.objectContaining({
      ...{ name: "e", imageName: "host:/app", machineId: "machine", desiredStatus: "RUNNING", aiApiId: endpoint.id },
      ...{ costPerHr: expect.any(Number), gpuCount: 0, memoryInGb: 4, vcpuCount: 2, slsVersion: 0 },
      endpoint: { id: endpoint.id, name: "e" },
    }),
  ]);
});
