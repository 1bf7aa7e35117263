/** While the database cannot be read, every route answers that it is unavailable. No route claims that a record does not exist. */
import { expect, test } from "vitest";
import { InterceptedStore, setup } from "../../tests/world.ts";
import { operations } from "../contract.ts";
import type { Operations } from "../kernel/operation.ts";
import { problem } from "../kernel/problem.ts";
import { restV1Operations } from "./rest-v1/operations.ts";

/** API keys stay readable, so the server still knows who asks. */
const WHO = "api-key";

const INVOCATION = [
  ...["GET /health", "GET /metrics", "GET /requests", "POST /purge-queue", "GET /anything", "POST /any/thing", "GET /"],
  ...["run", "runsync"].map((word) => `POST /${word}`),
  ...["status", "status-sync", "stream", "output", "requests"].map((word) => `GET /${word}/some-job`),
  ...["cancel", "retry"].map((word) => `POST /${word}/some-job`),
  "GET /batch/some-batch",
];

const BODIES_V1: Record<string, unknown> = {
  createNetworkVolume: { name: "v", size: 10, dataCenterId: "EU-RO-1" },
  createPod: { name: "p", imageName: "host", computeType: "CPU" },
  createTemplate: { name: "t", imageName: "host" },
  createEndpoint: { templateId: "t" },
  createContainerRegistryAuth: { name: "r", username: "u", password: "p" },
};

const TOKEN = "A".repeat(43);

const BODIES: Record<string, unknown> = {
  updatePerson: { name: "n" },
  createInvitation: { role: "viewer" },
  signIn: { email: "a@example.com", password: "correct horse battery" },
  signInByLink: { token: TOKEN },
  beginCodeLogin: { device: "d" },
  collectCodeLogin: { deviceCode: TOKEN },
  lookAtCodeLogin: { userCode: "BBBB-BBBB" },
  answerCodeLogin: { userCode: "BBBB-BBBB", approve: true },
  signInByInvitation: { token: TOKEN, email: "a@example.com", password: "correct horse battery" },
  lookAtInvitation: { token: TOKEN },
  createSecret: { name: "s", value: "v" },
  updateSecret: { value: "v" },
  createApiKey: { name: "k", scopes: ["all"] },
  createEndpoint: { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  updateEndpoint: { name: "e" },
  createS3Key: { name: "k" },
  createPublicEndpoint: { name: "a-model", endpointId: "e" },
  updatePublicEndpoint: { everyone: true },
  deployHubListing: {},
  createModel: { name: "org/name", folder: "/srv/model" },
  updateModel: { everyone: true },
  createPod: { name: "p", image: "host", cpu: { id: "cpu3c", vcpuCount: 2 } },
  updatePod: { name: "p" },
  podAction: { action: "stop" },
  createCluster: {
    ...{ name: "c", type: "APPLICATION", image: "host" },
    compute: { gpuTypeId: "NVIDIA L4", gpuCountPerPod: 1, podCount: 2 },
  },
  updateCluster: { name: "c" },
  createPodTerminal: {},
  createWorkerTerminal: {},
  createTemplate: { name: "t", image: "host" },
  updateTemplate: { name: "t" },
  createRegistry: { name: "r", username: "u", password: "p" },
  createDelegation: { resource: "arn:aws:ecr:us-east-2:123456789012:repository/team/model" },
  createNetworkVolume: { name: "v", size: 10, dataCenter: "EU-RO-1" },
  updateNetworkVolume: { name: "v" },
  createVolumeFolder: { path: "p" },
  createVolumeFileLink: { path: "p" },
  moveVolumeFile: { from: "p", to: "q" },
  updateSshKeys: { keys: [] },
  updateAccount: { spendLimit: 1 },
};

async function world(type: "QUEUE" | "LOAD_BALANCER") {
  const store = new InterceptedStore();
  const world = await setup({ store, rateLimits: "off" });
  const { json } = await world.call("POST", "/v2/serverless", {
    body: { name: "there", image: "host", type, cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  // By then the caches have forgotten the endpoint, so it must be read again.
  await world.clock.advance(2000);
  const fail = () => {
    throw problem("unavailable", "The database did not answer in time.");
  };
  store.beforeRead = (kind) => void (kind === WHO || fail());
  store.beforeCommit = fail;
  return { ...world, endpoint: json.id as string };
}

test.each(["QUEUE", "LOAD_BALANCER"] as const)(
  "of an endpoint (%s) that cannot be read nobody says that it is not there",
  async (type) => {
    await using there = await world(type);
    for (const route of INVOCATION) {
      const [method, path] = route.split(" ") as [string, string];
      const body = method === "POST" ? { input: {} } : undefined;
      const { status, text } = await there.call(method, `/v2/${there.endpoint}${path}`, { body });
      expect([route, status, text]).toEqual([route, 503, expect.stringContaining("did not answer in time")]);
      await there.clock.advance(2000);
    }
  },
);

test("no resource that cannot be read is said to be missing", async () => {
  await using there = await world("QUEUE");
  const headers = { origin: there.url };
  for (const [name, { method, path, who }] of Object.entries(operations as Operations)) {
    // A key is refused there, whatever can be read.
    if (who === "person") continue;
    // Without a provider they refuse before they read anything.
    if (name.endsWith("SignInByProvider") || name === "signInByProvider") continue;
    // API keys stay readable. The catalog, the listings of the hub, and the installation of a server without machines, keep no records to read.
    if (path.includes("/api-keys/") || /^\/v2\/(catalog|installation|hub\/listings)\//.test(path)) continue;
    const query = path.includes("/files") ? "?path=p" : "";
    const asked = path.replace(/\{\w+\}/g, there.endpoint) + query;
    const { status } = await there.call(method, asked, { body: BODIES[name], headers });
    // Lists of keys can still be read, and some answers need no records.
    expect([200, 204, 503], name).toContain(status);
    await there.clock.advance(2000);
  }
});

test("nor is one that REST v1 is asked for", async () => {
  await using there = await world("QUEUE");
  for (const [name, operation] of Object.entries(restV1Operations)) {
    const { method, path } = operation;
    const body = "in" in operation ? (BODIES_V1[name] ?? { name: "n" }) : undefined;
    const { status } = await there.call(method, path.replace(/\{\w+\}/g, there.endpoint), { body });
    expect([name, status]).toEqual([name, 503]);
    await there.clock.advance(2000);
  }
});
