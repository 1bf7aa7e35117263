/** The public MCP server 3.4.0, unmodified, on REST v1 and GraphQL, and on REST v2 for its other tools: every tool is called. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { versionOf } from "../../scripts/compatibility.ts";
import { comparedWithMatrix } from "./compatibility.ts";
import { type McpClient, startMcp } from "./mcp-client.ts";
import { type Folder, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

const imageName = `host:${fileURLToPath(new URL("../../examples/echo", import.meta.url)).replace(/\/$/, "")}`;
const A40 = "NVIDIA A40";
const L4 = "NVIDIA L4";

let data: Folder;
let server: Server;
/** Uses REST v1 and GraphQL. */
let v1: McpClient;
/** The same program, configured for REST v2. */
let v2: McpClient;

comparedWithMatrix(import.meta.url, { client: "@runpod/mcp-server", version: versionOf("mcp-server-3") });

beforeAll(async () => {
  data = await temporaryFolder();
  server = await startServer(data.path, { env: { MILLRACE_COMPUTE: "host" } });
  const key = await ownerKey(data.path);
  v1 = await startMcp("mcp-server-3", server, { key, restVersion: "v1" });
  v2 = await startMcp("mcp-server-3", server, { key, restVersion: "v2" });
});

afterAll(async () => {
  await v1[Symbol.asyncDispose]();
  await v2[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

test("the catalog by GraphQL", async () => {
  const { items: gpus } = await v1.call("list-gpu-types", { includeUnavailable: true, limit: 100 });
  expect(gpus.map(({ id }: { id: string }) => id)).toContain(A40);
  const { items: centers } = await v1.call("list-data-centers", { region: "europe" });
  expect(centers.length).toBeGreaterThan(3);
  expect(JSON.stringify(await v1.call("get-capacity", { gpuTypeIds: [A40], gpuCount: 1 }))).toContain(A40);
  expect(await v1.call("list-hub-repos", { repoOwner: "nobody" })).toMatchObject({ items: [] });
  expect(await v1.call("list-public-endpoints")).toMatchObject({ items: [] });
  expect(await v1.call("deploy-hub-repo", { repo: "nobody/nothing" })).toMatchObject({
    error: expect.stringMatching("No Hub listing"),
  });
});

test("Pods are made, listed, changed, stopped, started and deleted", async () => {
  const asked = { name: "p", imageName, gpuTypeIds: [L4, A40], gpuCount: 1, ports: ["8888/http", "22/tcp"] };
  const made = await v1.call("create-pod", { ...asked, env: { A: "b" }, containerDiskInGb: 5, volumeInGb: 10 });
  expect(made).toMatchObject({ name: "p", desiredStatus: "RUNNING", env: { A: "b" }, volumeInGb: 10 });
  const { id: podId } = made;
  expect(await v1.call("list-pods", { name: "p", includeMachine: true })).toMatchObject({ items: [{ id: podId }] });
  expect(await v1.call("update-pod", { podId, name: "q", env: { A: "c" } })).toMatchObject({
    name: "q",
    env: { A: "c" },
  });
  expect(await v1.call("get-pod", { podId, includeMachine: true })).toMatchObject({
    id: podId,
    machine: { gpuTypeId: L4 },
  });
  await v1.call("stop-pod", { podId });
  expect(await v1.call("get-pod", { podId })).toMatchObject({ desiredStatus: "EXITED" });
  await v1.call("start-pod", { podId });
  expect(await v1.call("get-pod", { podId })).toMatchObject({ desiredStatus: "RUNNING" });
  await v2.call("stream-pod-logs", { podId, maxWaitMs: 500 });
  await v1.call("delete-pod", { podId });
  expect(await v1.call("list-pods")).toMatchObject({ items: [] });
});

describe("templates and endpoints", () => {
  let templateId: string;
  let endpointId: string;

  test("a template is made, listed and read", async () => {
    const asked = { name: "t", imageName, isServerless: true, dockerStartCmd: ["node", "worker.ts"], volumeInGb: 0 };
    templateId = (await v1.call("create-template", { ...asked, env: { A: "b" }, readme: "# t" })).id;
    expect(await v1.call("list-templates")).toMatchObject({ items: [{ id: templateId, name: "t" }] });
    expect(await v1.call("get-template", { templateId })).toMatchObject({ ...asked, id: templateId, readme: "# t" });
  });

  test("an endpoint is made from it, listed, changed, and follows it", async () => {
    const asked = { name: "e", templateId, gpuTypeIds: [A40, L4], workersMin: 0, workersMax: 2 };
    const made = await v1.call("create-endpoint", asked);
    expect(made).toMatchObject({ ...asked, idleTimeout: 5, version: 0 });
    endpointId = made.id;
    expect(await v1.call("update-endpoint", { endpointId, workersMax: 1 })).toMatchObject({ workersMax: 1 });
    await v1.call("update-template", { templateId, env: { A: "c" } });
    const asIs = await v1.call("get-endpoint", { endpointId, includeTemplate: true, includeWorkers: true });
    expect(asIs).toMatchObject({
      version: 1,
      env: { A: "c" },
      gpuTypeIds: [A40, L4],
      template: { imageName },
      workers: [],
    });
    expect(await v1.call("list-endpoints", { includeTemplate: true })).toMatchObject({ items: [{ id: endpointId }] });
  });

  test("its GPUs are set by GraphQL", async () => {
    await v1.call("set-endpoint-gpus", { endpointId, gpuIds: "AMPERE_48,-NVIDIA RTX A6000", gpuCount: 1 });
    expect(await v1.call("get-endpoint", { endpointId })).toMatchObject({ gpuTypeIds: [A40], workersMax: 1 });
  });

  test("it does jobs", async () => {
    const at = { endpointId };
    const input = { prompt: "hello" };
    expect(await v1.call("runsync-endpoint", { ...at, input })).toMatchObject({ status: "COMPLETED", output: input });
    const { id: jobId } = await v1.call("run-endpoint", { ...at, input });
    expect(await v1.call("get-job-status", { ...at, jobId })).toMatchObject({ id: jobId });
    await v1.call("stream-job", { ...at, jobId });
    await expect(v1.call("retry-job", { ...at, jobId })).rejects.toThrow();
    await expect(v1.call("cancel-job", { ...at, jobId: "unknown" })).rejects.toThrow();
    expect(await v1.call("endpoint-health", at)).toMatchObject({ jobs: { failed: 0 } });
    expect(await v1.call("purge-endpoint-queue", at)).toMatchObject({ status: "completed" });
  });

  test("what REST v2 has of it alone", async () => {
    const { items: workers } = await v2.call("list-endpoint-workers", { endpointId });
    await v2.call("stream-worker-logs", { endpointId, workerId: workers[0].id, maxWaitMs: 500 });
    expect((await v2.call("list-endpoint-releases", { endpointId })).items.length).toBeGreaterThan(1);
  });

  test("both go, the template last", async () => {
    await expect(v1.call("delete-template", { templateId })).rejects.toThrow(endpointId);
    await v1.call("delete-endpoint", { endpointId });
    await v1.call("delete-template", { templateId });
    expect(await v1.call("list-templates")).toMatchObject({ items: [] });
  });
});

test("volumes and registry credentials", async () => {
  const volume = await v1.call("create-network-volume", { name: "v", size: 10, dataCenterId: "EU-RO-1" });
  const { id: networkVolumeId } = volume;
  expect(await v1.call("list-network-volumes")).toMatchObject({ items: [volume] });
  expect(await v1.call("update-network-volume", { networkVolumeId, size: 11 })).toMatchObject({ size: 11 });
  expect(await v1.call("get-network-volume", { networkVolumeId })).toMatchObject({ ...volume, size: 11 });
  await v1.call("delete-network-volume", { networkVolumeId });

  const auth = await v1.call("create-container-registry-auth", { name: "r", username: "u", password: "p" });
  const { id: containerRegistryAuthId } = auth;
  expect(await v1.call("list-container-registry-auths")).toMatchObject({ items: [auth] });
  expect(await v1.call("get-container-registry-auth", { containerRegistryAuthId })).toMatchObject(auth);
  await v1.call("delete-container-registry-auth", { containerRegistryAuthId });
});

test("what it has by REST v2 alone", async () => {
  expect(await v2.call("get-gpu-type", { gpuTypeId: A40 })).toMatchObject({ id: A40 });
  expect((await v2.call("list-cpu-types")).items.length).toBeGreaterThan(3);
  expect(await v2.call("get-cpu-type", { cpuTypeId: "cpu3c" })).toMatchObject({ id: "cpu3c" });
  expect(await v2.call("get-data-center", { dataCenterId: "EU-RO-1" })).toMatchObject({ id: "EU-RO-1" });
  expect(await v2.call("get-billing", { scope: "pods", bucketSize: "hour" })).toMatchObject({
    items: expect.any(Array),
  });
  expect(await v2.call("list-registry-delegations")).toMatchObject({ items: [] });
  await expect(v2.call("create-registry-delegation", { resource: "arn:none" })).rejects.toThrow();
  await expect(v2.call("delete-registry-delegation", { delegationId: "none" })).rejects.toThrow();
  await expect(v2.call("restart-pod", { podId: "none" })).rejects.toThrow("not found");
});

test("no tool was left out", () => {
  expect([...new Set([...v1.called, ...v2.called])].sort()).toEqual([...v1.tools].sort());
});
