/** The public MCP server 4.0.0, unmodified, against a real server with programs of this machine: every tool is called. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { versionOf } from "../../scripts/compatibility.ts";
import { comparedWithMatrix } from "./compatibility.ts";
import { type McpClient, startMcp } from "./mcp-client.ts";
import { type Folder, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

const ECHO = { image: `host:${fileURLToPath(new URL("../../examples/echo", import.meta.url)).replace(/\/$/, "")}` };
const WORKER = { ...ECHO, args: "node worker.ts" };
const STAYS = { ...ECHO, args: "node -e setInterval(()=>console.log('here'),200)" };
const SMALL = { id: "cpu3c", vcpuCount: 2 };
const A40 = { id: "NVIDIA A40", count: 1 };

let data: Folder;
let server: Server;
let mcp: McpClient;

comparedWithMatrix(import.meta.url, { client: "@runpod/mcp-server", version: versionOf("mcp-server-4") });

beforeAll(async () => {
  data = await temporaryFolder();
  server = await startServer(data.path, { env: { MILLRACE_COMPUTE: "host" } });
  mcp = await startMcp("mcp-server-4", server, { key: await ownerKey(data.path) });
});

afterAll(async () => {
  await mcp[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

test("templates are made, listed, changed and deleted", async () => {
  const { id } = await mcp.call("create-template", { body: { name: "t", ...STAYS } });
  expect((await mcp.call("list-templates")).templates.map(({ id }: { id: string }) => id)).toEqual([id]);
  expect(await mcp.call("update-template", { id, body: { env: { A: "b" } } })).toMatchObject({ env: { A: "b" } });
  expect(await mcp.call("get-template", { id })).toMatchObject({ id, name: "t", env: { A: "b" } });
  await mcp.call("delete-template", { id });
  await expect(mcp.call("get-template", { id })).rejects.toThrow("not found");
  expect((await mcp.call("list-public-templates", { source: "official" })).templates.length).toBeGreaterThan(5);
});

test("Pods are made, listed, changed, acted on and deleted, and their log is read", async () => {
  const { id } = await mcp.call("create-pod", { body: { name: "p", ...STAYS, gpu: A40, ports: ["8888/http"] } });
  expect((await mcp.call("list-pods")).pods).toMatchObject([{ id, name: "p", gpu: A40 }]);
  expect(await mcp.call("update-pod", { id, body: { name: "q" } })).toMatchObject({ name: "q" });
  expect(JSON.stringify(await mcp.call("stream-pod-logs", { podId: id, maxWaitMs: 5000 }))).toContain("here");
  expect(await mcp.call("pod-action", { id, body: { action: "stop" } })).toMatchObject({ status: "EXITED" });
  expect(await mcp.call("get-pod", { id })).toMatchObject({ status: "EXITED", cost: 0 });
  await mcp.call("delete-pod", { id });
  expect((await mcp.call("list-pods", { includeClusterPods: true })).pods).toEqual([]);
});

describe("an endpoint", () => {
  let id: string;

  test("is made, listed, changed, and given other GPUs", async () => {
    id = (await mcp.call("create-endpoint", { body: { name: "e", ...WORKER, cpu: [SMALL] } })).id;
    expect(await mcp.call("list-endpoints")).toMatchObject({ items: [{ id, name: "e", type: "QUEUE" }] });
    expect(await mcp.call("update-endpoint", { id, body: { workers: { max: 2 } } })).toMatchObject({
      workers: { max: 2 },
    });
    expect(await mcp.call("get-endpoint", { id })).toMatchObject({ id, cpu: [SMALL] });
    const body = { name: "g", ...WORKER, gpu: { pools: ["AMPERE_48"], count: 1 } };
    const { id: other } = await mcp.call("create-endpoint", { body });
    await mcp.call("set-endpoint-gpus", {
      endpointId: other,
      pools: ["AMPERE_16"],
      excludeGpuTypeIds: ["NVIDIA RTX A4500"],
    });
    expect(await mcp.call("get-endpoint", { id: other })).toMatchObject({
      gpu: { pools: ["AMPERE_16"], excludedTypes: ["NVIDIA RTX A4500"] },
    });
    await mcp.call("delete-endpoint", { id: other });
  });

  test("does jobs, which can be waited for, followed, cancelled and run again", async () => {
    const at = { endpointId: id };
    const input = { prompt: "hello" };
    const done = await mcp.call("runsync-endpoint", { ...at, input });
    expect(done).toMatchObject({ status: "COMPLETED", output: input });
    const { id: jobId } = await mcp.call("run-endpoint", { ...at, input });
    expect(await mcp.call("get-job-status", { ...at, jobId, wait: 10_000 })).toMatchObject({ id: jobId });
    await mcp.call("stream-job", { ...at, jobId });
    await expect(mcp.call("retry-job", { ...at, jobId })).rejects.toThrow(/COMPLETED|IN_PROGRESS|IN_QUEUE/);
    await expect(mcp.call("cancel-job", { ...at, jobId: "unknown" })).rejects.toThrow("404");
    expect(await mcp.call("endpoint-health", at)).toMatchObject({ jobs: { failed: 0 } });
    expect(await mcp.call("purge-endpoint-queue", at)).toMatchObject({ status: "completed" });
  });

  test("shows its workers, their logs, its releases and builds, and goes", async () => {
    const { workers } = await mcp.call("list-endpoint-workers", { id });
    const [{ id: workerId }] = workers;
    await mcp.call("stream-worker-logs", { endpointId: id, workerId, maxWaitMs: 1000 });
    expect((await mcp.call("list-endpoint-releases", { id })).releases).toHaveLength(1);
    expect(await mcp.call("list-endpoint-builds", { id })).toMatchObject({ builds: [] });
    await expect(mcp.call("get-endpoint-build", { id, buildId: "none" })).rejects.toThrow("not found");
    await mcp.call("delete-endpoint", { id });
    expect((await mcp.call("list-endpoints")).items).toEqual([]);
  });
});

test("volumes, registries, delegations and SSH keys", async () => {
  const body = { name: "v", size: 10, dataCenter: "EU-RO-1" };
  const { id } = await mcp.call("create-network-volume", { body });
  expect(await mcp.call("update-network-volume", { id, body: { size: 11 } })).toMatchObject({ size: 11 });
  expect((await mcp.call("list-network-volumes")).networkVolumes).toMatchObject([{ id, size: 11 }]);
  expect(await mcp.call("get-network-volume", { id })).toMatchObject({ ...body, size: 11 });
  await mcp.call("delete-network-volume", { id });

  const registry = await mcp.call("create-registry", { body: { name: "r", username: "u", password: "p" } });
  expect(registry).toEqual({ id: registry.id, name: "r" });
  expect((await mcp.call("list-registries")).registries).toEqual([registry]);
  expect(await mcp.call("get-registry", { id: registry.id })).toEqual(registry);
  await mcp.call("delete-registry", { id: registry.id });

  expect(await mcp.call("list-delegations")).toEqual({ delegations: [] });
  await expect(mcp.call("create-delegation", { body: { resource: "arn:none" } })).rejects.toThrow();
  await expect(mcp.call("revoke-delegation", { id: "none" })).rejects.toThrow("not found");

  const keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtQaZQ1NYQbX0Qyb2zqQ8lqB8fXo3cFhlbCw2nUO9dq me"];
  await mcp.call("update-ssh-keys", { body: { keys } });
  expect(await mcp.call("get-ssh-keys")).toMatchObject({ keys });
});

test("clusters are made, listed, changed and deleted, with their Pods", async () => {
  const body = {
    name: "c",
    type: "TRAINING",
    ...STAYS,
    compute: { gpuTypeId: A40.id, gpuCountPerPod: 1, podCount: 2 },
  };
  const { id } = await mcp.call("create-cluster", { body });
  expect((await mcp.call("list-clusters")).clusters).toMatchObject([{ id }]);
  expect((await mcp.call("list-cluster-pods", { id })).pods).toHaveLength(2);
  expect(await mcp.call("update-cluster", { id, body: { name: "d" } })).toMatchObject({ name: "d" });
  expect(await mcp.call("get-cluster", { id })).toMatchObject({ name: "d" });
  await mcp.call("delete-cluster", { id });
  await expect(mcp.call("get-cluster", { id })).rejects.toThrow("not found");
});

test("the hub: a listing is found and deployed, and a job runs on it", async () => {
  const { items } = await mcp.call("list-hub-repos", { searchTerm: "gives back", includeConfig: true });
  const release = { config: { runsOn: "CPU" }, imageName: expect.stringMatching(/^host:/) };
  expect(items).toMatchObject([{ repo: "millrace/echo", type: "SERVERLESS", listedRelease: release }]);
  const asked = { repo: "millrace/echo", name: "from the hub", gpuIds: "ADA_24", workersMax: 1 };
  const { endpoint, deployed } = await mcp.call("deploy-hub-repo", asked);
  expect(deployed.hubReleaseId).toBe(items[0].listedRelease.hubReleaseId);
  const input = { prompt: "hello" };
  const done = await mcp.call("runsync-endpoint", { endpointId: endpoint.id, input });
  expect(done).toMatchObject({ status: "COMPLETED", output: input });
  await expect(mcp.call("deploy-hub-repo", { repo: "nobody/nothing" })).rejects.toThrow("No Hub listing");

  // The same endpoint, shared under a name with everyone.
  const body = {
    name: "an-echo",
    title: "An echo",
    endpointId: endpoint.id,
    everyone: true,
    price: { perRequest: 0.01 },
  };
  await server.call("POST", "/v2/public-endpoints", { key: await ownerKey(data.path), body });
  const shared = await mcp.call("list-public-endpoints");
  expect(shared).toMatchObject({ pagination: { total: 1 } });
  expect(JSON.stringify(shared)).toContain("an-echo");
  expect(await mcp.call("runsync-endpoint", { endpointId: "an-echo", input })).toMatchObject({ output: input });
  await mcp.call("delete-endpoint", { id: endpoint.id });
  expect(await mcp.call("list-public-endpoints")).toMatchObject({ pagination: { total: 0 } });
});

test("the catalog, and capacity", async () => {
  const asked = { include: ["AVAILABILITY"], product: ["POD"] };
  expect((await mcp.call("list-gpu-types", asked)).gpus.length).toBeGreaterThan(40);
  expect(await mcp.call("get-gpu-type", { id: A40.id, ...asked })).toMatchObject({ id: A40.id });
  expect((await mcp.call("list-cpu-types")).cpus.length).toBeGreaterThan(3);
  expect(await mcp.call("get-cpu-type", { id: "cpu3c" })).toMatchObject({ id: "cpu3c" });
  expect((await mcp.call("list-data-centers")).dataCenters.length).toBeGreaterThan(40);
  expect(await mcp.call("get-data-center", { id: "EU-RO-1" })).toMatchObject({ id: "EU-RO-1" });
  expect(JSON.stringify(await mcp.call("get-capacity", { gpuTypeIds: [A40.id] }))).toContain(A40.id);
});

test.each(["", "pod-", "serverless-", "network-volume-", "cluster-", "endpoint-"])("list-%sbilling", async (of) => {
  const { records } = await mcp.call(`list-${of}billing`, { bucketSize: "hour" });
  expect(Array.isArray(records)).toBe(true);
});

test("no tool was left out", () => {
  expect([...mcp.called].sort()).toEqual([...mcp.tools].sort());
});
