/** Bodies in the form of other APIs are refused as before, and the message says what to write instead. */
import { expect, test } from "vitest";
import { GPU_POD, setupPods } from "../../tests/pod-world.ts";

const POD = { name: "box", image: "host:/app", gpu: GPU_POD.gpu };
const ENDPOINT = { name: "e", image: "host:/app", gpu: { pools: ["AMPERE_48"] } };
const TEMPLATE = { name: "t", image: "host:/app" };

/** The path, the body, and the end of one entry in `errors`. */
const sent: [string, object, string][] = [
  ["serverless", { ...ENDPOINT, scaling: { type: "QUEUE_DELAY", value: 4 } }, "'scaling.queueDelay' for QUEUE_DELAY"],
  [
    "serverless",
    { ...ENDPOINT, scaling: { type: "QUEUE_DELAY", queueDelay: 4, idleTimeout: 5 } },
    "'workers.idleTimeout'",
  ],
  ["serverless", { ...ENDPOINT, flashboot: true }, "; write FLASHBOOT for true, and OFF for false"],
  ["serverless", { ...ENDPOINT, networkVolumeIds: ["v"] }, "; write 'networkVolumes', a list of ids"],
  [
    "serverless",
    { ...ENDPOINT, gpu: { pools: ["AMPERE_48"], count: 0 } },
    "must be >= 1; write 'cpu' in place of 'gpu'",
  ],
  ["serverless", { ...ENDPOINT, workersMin: 1 }, "; write 'workers.min'"],
  ["serverless", { ...ENDPOINT, gpuTypeIds: ["NVIDIA A40"] }, "; write 'gpu': {\"pools\""],
  ["serverless", { ...ENDPOINT, gpu: { pools: ["AMPERE_48"], templateId: "t" } }, "; write 'templateId' at the top"],
  ["serverless", { ...ENDPOINT, executionTimeoutMs: 5000 }, "; write 'timeout'"],
  ["pods", { ...POD, imageName: "host:/app" }, "'imageName' not allowed; write 'image'"],
  ["pods", { ...POD, containerDiskInGb: 10 }, "; write 'disk'"],
  ["pods", { ...POD, gpuTypeIds: ["NVIDIA A40"] }, "; write 'gpu': {\"id\""],
  ["pods", { ...POD, gpuCount: 1 }, "; write 'gpu.count'"],
  ["pods", { ...POD, gpu: { id: "NVIDIA A40", count: 0 } }, "; write 'cpu' in place of 'gpu'"],
  ["pods", { ...POD, dockerArgs: "sleep 1" }, "; write 'args'"],
  ["pods", { ...POD, env: [{ key: "A", value: "1" }] }, "$.env: must be object; write an object of names and values"],
  ["pods", { ...POD, ports: "8888/http" }, "$.ports: must be array; write a list"],
  ["pods", { ...POD, volumeInGb: 20 }, "; write 'mounts': {\"persistent\""],
  ["pods", { ...POD, networkVolumeId: "v" }, "; write 'mounts': {\"network\""],
  ["pods", { ...POD, template: "t" }, "; write 'templateId'"],
  ["pods", { ...POD, dataCenterId: "EU-RO-1" }, "; write 'dataCenterIds', a list"],
  ["network-volumes", { name: "v", size: 10, dataCenterId: "EU-RO-1" }, "; write 'dataCenter'"],
  ["templates", { ...TEMPLATE, isServerless: true }, "; write 'serverless'"],
  ["templates", { ...TEMPLATE, templateId: "t" }, "; write 'id' of the template in the path"],
];

test.each(sent)("422 for %s with %o says what to write", async (word, body, hint) => {
  await using world = await setupPods();
  const { status, json } = await world.call("POST", `/v2/${word}`, { body });
  expect(status).toBe(422);
  expect(json.errors).toEqual(expect.arrayContaining([expect.stringContaining(hint)]));
});

test("what is wrong for another reason is said without it", async () => {
  await using world = await setupPods();
  const errorsOf = async (body: object) => (await world.call("POST", "/v2/pods", { body })).json.errors;
  expect(await errorsOf({ ...POD, env: "A=1" })).toEqual(["$.env: must be object"]);
  expect(await errorsOf({ ...POD, workersMin: 1 })).toEqual(["$: additional properties 'workersMin' not allowed"]);
  const template = { ...TEMPLATE, allowedCudaVersions: "12.4" };
  const { errors } = (await world.call("POST", "/v2/templates", { body: template })).json;
  expect(errors).toEqual(["$.allowedCudaVersions: must be array"]);
  expect(await errorsOf({ ...POD, constructor: 1 })).toEqual(["$: additional properties 'constructor' not allowed"]);
});

test("an older API, which has these words itself, is told none of REST v2", async () => {
  await using world = await setupPods();
  const body = { name: "t", imageName: "busybox", isPublic: "yes", dockerEntrypoint: "sh" };
  const { status, json } = await world.call("POST", "/v1/templates", { body });
  const failures = "$.isPublic: must be boolean or null; $.dockerEntrypoint: must be array or null";
  expect([status, json.message]).toEqual([400, `Request validation failed: ${failures}`]);
});
