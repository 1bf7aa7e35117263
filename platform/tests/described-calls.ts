/** Calls for every operation of REST v2: one that succeeds, and others that break a rule of that operation. */

import { type WorkerState, workerLog } from "../src/resources/workers/model.ts";
import { CLUSTER, goodClusterCalls, makeCluster, memberOf } from "./cluster-doc.ts";
import { goodHubCalls, ownHubRefusals } from "./hub-calls.ts";
import { idle } from "./idle.ts";
import { fittingInstallationBodies, goodInstallationCalls, ownInstallationRefusals } from "./installation-calls.ts";
import { fittingModelBodies, goodModelCalls, ownModelRefusals } from "./model-calls.ts";
import { fittingPeopleBodies, goodPeopleCalls, ownPeopleRefusals } from "./people-calls.ts";
import { giveVolumesAPlace, goodVolumeCalls, putVolume, usedVolume, volumeWithFile } from "./volume-doc.ts";
import { putWorker, workerDoc } from "./worker-doc.ts";
import type { World } from "./world.ts";

const BILLING = [
  "listBilling",
  "listPodBilling",
  "listServerlessBilling",
  "listEndpointBilling",
  "listNetworkVolumeBilling",
  "listClusterBilling",
];

/** A call that succeeds, for every operation. The test of an operation without one fails. */
export const good: Record<
  string,
  (world: World) => Promise<{ id?: string; body?: unknown; [parameter: string]: unknown }>
> = {
  getSshKeys: async () => ({}),
  getAccount: async () => ({}),
  updateAccount: async () => ({ body: { spendLimit: 12.5, spendWebhook: "https://hooks.test/spend?token=t" } }),
  listAuditEntries: async (world) => ({ id: await makeSecret(world) }),
  updateSshKeys: async () => ({ body: { keys: ["ssh-ed25519 AAAA me@host"] } }),
  listApiKeys: async () => ({}),
  createApiKey: async () => ({ body: { name: "ci", scopes: ["read-only"], expiresAt: "2026-02-01T00:00:00Z" } }),
  deleteApiKey: async (world) => ({
    id: (await world.call("POST", "/v2/account/api-keys", { body: { scopes: ["all"] } })).json.id,
  }),
  listSecrets: async (world) => ({ id: await makeSecret(world) }),
  createSecret: async () => ({ body: { name: "token", value: "v" } }),
  getSecret: async (world) => ({ id: await makeSecret(world) }),
  updateSecret: async (world) => ({ id: await makeSecret(world), body: { value: "w", description: "d" } }),
  deleteSecret: async (world) => ({ id: await makeSecret(world) }),
  listPods: async (world) => ({ id: await makePod(world) }),
  createPod: async () => ({ body: { ...POD, ports: ["80/http"], env: { A: "1" }, registry: null } }),
  getPod: async (world) => ({ id: await makePod(world) }),
  updatePod: async (world) => ({ id: await makePod(world), body: { name: "other" } }),
  deletePod: async (world) => ({ id: await makePod(world) }),
  getPodLogs: async (world) => ({ id: await makePod(world) }),
  createPodPortLink: async (world) => ({ id: await makePod(world, { ports: ["8888/http"] }), port: "8888" }),
  podAction: async (world) => ({ id: await makePod(world), body: { action: "stop" } }),
  listDuties: async () => ({}),
  ...goodInstallationCalls,
  streamAccountEvents: async () => ({}),
  listInstallationNodes: async () => ({}),
  listInstallationMachines: async (world) => ({ id: await makePod(world) }),
  listMachineInstances: async (world) => ({ id: await machineOf(world) }),
  machineAction: async (world) => ({ id: await machineOf(world), body: { action: "drain" } }),
  ...goodClusterCalls,
  ...goodPeopleCalls,
  createPodTerminal: async (world) => ({ id: await makePod(world), body: { command: ["sh"], cols: 100 } }),
  createWorkerTerminal: async (world) => ({ id: await makeWorker(world), workerId: "w1", body: {} }),
  listEndpoints: async (world) => ({ id: await makeEndpoint(world) }),
  createEndpoint: async () => ({ body: { ...ENDPOINT, workers: { min: 1, max: 2 }, registry: null } }),
  getEndpoint: async (world) => ({ id: await makeEndpoint(world) }),
  updateEndpoint: async (world) => ({ id: await makeEndpoint(world), body: { gpu: { pools: ["ADA_24"] } } }),
  deleteEndpoint: async (world) => ({ id: await makeEndpoint(world) }),
  listRegistries: async (world) => ({ id: await makeRegistry(world) }),
  createRegistry: async () => ({ body: REGISTRY }),
  getRegistry: async (world) => ({ id: await makeRegistry(world) }),
  deleteRegistry: async (world) => ({ id: await makeRegistry(world) }),
  listPublicTemplates: async () => ({}),
  listTemplates: async (world) => ({ id: await makeTemplate(world) }),
  createTemplate: async () => ({ body: { ...TEMPLATE, mounts: { persistent: { size: 10, path: "/workspace" } } } }),
  getTemplate: async (world) => ({ id: await makeTemplate(world) }),
  updateTemplate: async (world) => ({ id: await makeTemplate(world), body: { env: { A: "1" } } }),
  deleteTemplate: async (world) => ({ id: await makeTemplate(world) }),
  listDelegations: async (world) => ({ id: await makeDelegation(world) }),
  createDelegation: async () => ({ body: { ...DELEGATION, name: null } }),
  revokeDelegation: async (world) => ({ id: await makeDelegation(world) }),
  listEndpointHealth: async (world) => {
    await makeWorker(world);
    return {};
  },
  listEndpointWorkers: async (world) => ({ id: await makeWorker(world) }),
  listEndpointReleases: async (world) => {
    const id = await makeWorker(world);
    await world.call("PATCH", `/v2/serverless/${id}`, { body: { image: "other", env: { A: "1" } } });
    return { id };
  },
  listEndpointBuilds: async (world) => ({ id: await makeEndpoint(world) }),
  getEndpointMetricsHistory: async (world) => ({ id: await makeEndpoint(world) }),
  getPodMetricsHistory: async (world) => ({ id: await makePod(world) }),
  getAccountMetricsHistory: async () => ({}),
  listPublicEndpoints: async (world) => ({ id: await makePublicEndpoint(world) }),
  createPublicEndpoint: async (world) => ({ body: { ...PUBLIC, endpointId: await makeEndpoint(world) } }),
  getPublicEndpoint: async (world) => ({ id: await makePublicEndpoint(world) }),
  updatePublicEndpoint: async (world) => ({ id: await makePublicEndpoint(world), body: { everyone: true } }),
  deletePublicEndpoint: async (world) => ({ id: await makePublicEndpoint(world) }),
  getPublicEndpointUse: async (world) => ({ id: await makePublicEndpoint(world) }),
  ...goodHubCalls,
  ...goodModelCalls,
  listS3Keys: async (world) => ({ id: await makeS3Key(world) }),
  createS3Key: async () => ({ body: { name: "laptop" } }),
  deleteS3Key: async (world) => ({ id: await makeS3Key(world) }),
  listGpuTypes: async () => ({}),
  getGpuType: async () => ({ id: "NVIDIA%20L4" }),
  listCpuTypes: async () => ({}),
  getCpuType: async () => ({ id: "cpu5c" }),
  listDataCenters: async () => ({}),
  getDataCenter: async () => ({ id: "US-KS-2" }),
  ...Object.fromEntries(
    BILLING.map((name) => [
      name,
      async (world: World) => {
        await makePod(world);
        return {};
      },
    ]),
  ),
  exportBilling: async () => ({}),
  ...goodVolumeCalls,
  getWorkerLogs: async (world) => {
    const id = await makeEndpoint(world);
    world.logs.append(workerLog(id, "w1"), [{ source: "system", ts: world.clock.now(), line: "started" }]);
    return { id, workerId: "w1" };
  },
  getEndpointLogs: async (world) => {
    const id = await makeWorker(world);
    world.logs.append(workerLog(id, "w1"), [{ source: "system", ts: world.clock.now(), line: "started" }]);
    return { id };
  },
};

const POD = { name: "made", image: "busybox", cpu: { id: "cpu3c", vcpuCount: 2 } };

async function makePod(world: World, more: object = {}): Promise<string> {
  const { json } = await world.call("POST", "/v2/pods", { body: { ...POD, ...more } });
  await idle();
  return json.id;
}

async function stoppedPod(world: World): Promise<string> {
  const id = await makePod(world);
  await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "stop" } });
  return id;
}

const TEMPLATE = { name: "made", image: "busybox", serverless: true };
const makeTemplate = async (world: World) => (await world.call("POST", "/v2/templates", { body: TEMPLATE })).json.id;

async function usedTemplate(world: World): Promise<string> {
  const templateId = await makeTemplate(world);
  await world.call("POST", "/v2/serverless", { body: { templateId } });
  return templateId;
}

const machineOf = async (world: World): Promise<string> =>
  (await world.call("GET", "/v2/installation/machines")).json.machines[0].id;

const REGISTRY = { name: "made", username: "u", password: "p" };
const DELEGATION = { resource: "arn:aws:ecr:us-east-2:123456789012:repository/team/model" };

export const makeRegistry = async (world: World) =>
  (await world.call("POST", "/v2/registries", { body: REGISTRY })).json.id;
async function usedRegistry(world: World): Promise<string> {
  const id = await makeRegistry(world);
  await world.call("POST", "/v2/serverless", { body: { ...ENDPOINT, registry: id } });
  return id;
}
const makeDelegation = async (world: World) =>
  (await world.call("POST", "/v2/registries/delegations", { body: DELEGATION })).json.id;

const ENDPOINT = { name: "made", image: "busybox", gpu: { pools: ["AMPERE_16"], excludedTypes: ["NVIDIA RTX A4000"] } };

const PUBLIC = { name: "a-model", title: "A model", price: { perRequest: 0.01 }, limits: { jobsAtOnce: 5 } };

async function makePublicEndpoint(world: World): Promise<string> {
  const endpointId = await makeEndpoint(world);
  await world.call("POST", "/v2/public-endpoints", { body: { ...PUBLIC, endpointId } });
  return PUBLIC.name;
}

async function makeS3Key(world: World): Promise<string> {
  return (await world.call("POST", "/v2/account/s3-keys", { body: {} })).json.id;
}

async function makeEndpoint(world: World): Promise<string> {
  return (await world.call("POST", "/v2/serverless", { body: ENDPOINT })).json.id;
}

/** Makes an endpoint with one worker. */
async function makeWorker(world: World, worker = "w1", state: WorkerState = "READY"): Promise<string> {
  const endpoint = await makeEndpoint(world);
  await putWorker(world.services.workerRecords, {
    ...{ id: worker, account: world.owner.account, createdAt: world.clock.now() },
    doc: workerDoc({
      ...{ owner: endpoint, state, image: "busybox", machine: "m1", vcpu: 4, memoryMb: 8192 },
      ...{ gpuType: "NVIDIA L4", gpuCount: 1, startedAt: world.clock.now() },
    }),
  });
  return endpoint;
}

export async function makeSecret(world: World): Promise<string> {
  return (await world.call("POST", "/v2/account/secrets", { body: { name: "made", value: "v" } })).json.id;
}

/** A call that breaks a rule of its own operation, beyond what every operation refuses. */
export type OwnRefusal = {
  body?: unknown;
  query?: string;
  headers?: Record<string, string>;
  workerId?: string;
  /** A body that depends on what is there. */
  bodyIn?: (world: World) => Promise<unknown>;
  /** Makes the thing that the call is refused for, and returns its id. */
  id?: (world: World) => Promise<string>;
};
/** From now on the account has no money to start anything. This must be an operation's last call, since it cannot be undone. */
async function spendAll<T>(world: World, id: T): Promise<T> {
  await world.services.spending.credit(world.owner.account, 0);
  return id;
}

export const ownRefusals: Record<string, readonly (readonly [status: number, call: OwnRefusal])[]> = {
  ...ownPeopleRefusals,
  listVolumeFiles: [[422, { query: "?limit=0" }]],
  deleteVolumeFiles: [
    [422, { query: "?path=a//b" }],
    [409, { id: volumeWithFile, query: "?path=in" }],
  ],
  createVolumeFolder: [[409, { id: volumeWithFile, body: { path: "in/model.bin" } }]],
  moveVolumeFile: [[409, { id: volumeWithFile, body: { from: "in/model.bin", to: "in/model.bin" } }]],
  downloadVolumeFile: [
    [422, { query: "?preview=perhaps" }],
    [409, { id: volumeWithFile, query: "?path=in/model.bin", headers: { "if-match": '"another"' } }],
    [416, { id: volumeWithFile, query: "?path=in/model.bin", headers: { range: "bytes=9-" } }],
  ],
  uploadVolumeFile: [
    [422, { query: "?path=../up" }],
    [409, { id: volumeWithFile, query: "?path=in" }],
    [400, { id: volumeWithFile, query: "?path=in/model.bin/below" }],
  ],
  updateAccount: [
    [
      400,
      {
        body: { spendLimit: 6 },
        id: async ({ services, owner }) => {
          await services.spending.set(owner.account, { most: 5_000_000_000 });
          return "";
        },
      },
    ],
  ],
  createNetworkVolume: [
    [
      402,
      {
        body: { name: "models", size: 50, dataCenter: "EU-RO-1" },
        id: (world) => {
          giveVolumesAPlace(world);
          return spendAll(world, "");
        },
      },
    ],
  ],
  updateNetworkVolume: [[402, { id: async (world) => spendAll(world, await putVolume(world)), body: { size: 60 } }]],
  createPublicEndpoint: [
    [404, { body: { ...PUBLIC, endpointId: "nothing" } }],
    [
      400,
      {
        body: { ...PUBLIC, endpointId: "nothing" },
        async id(world) {
          await makePublicEndpoint(world);
          return "";
        },
      },
    ],
  ],
  getPublicEndpointUse: [
    [422, { id: makePublicEndpoint, query: "?lastN=0" }],
    [400, { id: makePublicEndpoint, query: "?lastN=10001" }],
  ],
  ...ownHubRefusals,
  ...ownModelRefusals,
  listAuditEntries: [[422, { query: "?from=yesterday" }]],
  listPods: [[422, { query: "?limit=0" }]],
  listInstallationNodes: [[422, { query: "?limit=0" }]],
  listInstallationMachines: [[422, { query: "?limit=0" }]],
  ...ownInstallationRefusals,
  listMachineInstances: [[422, { id: machineOf, query: "?limit=0" }]],
  createPod: [
    [400, { body: { ...POD, gpu: { id: "NVIDIA L4" } } }],
    [404, { body: { ...POD, registry: "nothing" } }],
    [402, { body: POD, id: (world) => spendAll(world, "") }],
  ],
  updatePod: [
    [400, { id: makePod, body: { mounts: { network: [] } } }],
    [409, { id: (world) => makePod(world, { locked: true }), body: { env: { A: "1" } } }],
  ],
  getPodLogs: [[422, { query: "?tail=5001" }]],
  createPodPortLink: [[400, { id: makePod }]],
  deletePod: [[409, { id: async (world) => memberOf(world, await makeCluster(world)) }]],
  createCluster: [
    [400, { body: { ...CLUSTER, templateId: "nothing" } }],
    [404, { body: { ...CLUSTER, image: undefined, templateId: "nothing" } }],
    [402, { body: CLUSTER, id: (world) => spendAll(world, "") }],
  ],
  podAction: [
    [409, { id: makePod, body: { action: "start" } }],
    [402, { id: async (world) => spendAll(world, await makePod(world)), body: { action: "restart" } }],
  ],
  createPodTerminal: [
    [400, { id: makePod, body: { command: [""] } }],
    [409, { id: stoppedPod, body: {} }],
  ],
  createWorkerTerminal: [
    [400, { id: (world) => makeWorker(world), workerId: "w1", body: { command: [""] } }],
    [409, { id: (world) => makeWorker(world, "w2", "FAILED"), workerId: "w2", body: {} }],
  ],
  listPublicTemplates: [[422, { query: "?source=moon" }]],
  listTemplates: [[422, { query: "?limit=0" }]],
  createTemplate: [
    [400, { body: { ...TEMPLATE, args: "a", cmd: ["b"] } }],
    [404, { body: { ...TEMPLATE, registry: "nothing" } }],
  ],
  deleteTemplate: [[400, { id: usedTemplate }]],
  createRegistry: [[400, { body: REGISTRY }]],
  deleteRegistry: [[400, { id: usedRegistry }]],
  deleteNetworkVolume: [[400, { id: async (world) => usedVolume(world, await makeEndpoint(world)) }]],
  createApiKey: [[400, { body: { scopes: ["all"], expiresAt: "2020-01-01T00:00:00Z" } }]],
  createSecret: [
    [400, { body: { name: "runpod_token", value: "v" } }],
    [409, { body: { name: "made", value: "v" } }],
  ],
  ...Object.fromEntries(
    ["listGpuTypes", "getGpuType", "listCpuTypes", "getCpuType"].map((name) => [
      name,
      [
        [400, { query: "?product=POD" }],
        [422, { query: "?product=HOUSE" }],
      ],
    ]),
  ),
  ...Object.fromEntries(
    BILLING.map((name) => [
      name,
      [
        [400, { query: "?lastN=3&startTime=2026-01-01T00:00:00Z" }],
        [422, { query: "?bucketSize=decade" }],
      ],
    ]),
  ),
  exportBilling: [
    [400, { query: "?startTime=2020-01-01T00:00:00Z" }],
    [422, { query: "?format=pdf" }],
  ],
  listDataCenters: [[422, { query: "?regions=MOON" }]],
  getDataCenter: [[422, { query: "?include=WEATHER" }]],
  listSecrets: [[422, { query: `?name=${"x".repeat(192)}` }]],
  listEndpoints: [[422, { query: "?limit=0" }]],
  listEndpointHealth: [[422, { query: "?limit=101" }]],
  getWorkerLogs: [[422, { query: "?tail=5001" }]],
  getEndpointLogs: [[422, { query: "?tail=5001" }]],
  listEndpointReleases: [[422, { query: "?limit=0" }]],
  getEndpointMetricsHistory: [[422, { query: "?range=2h" }]],
  getPodMetricsHistory: [[422, { query: "?range=2h" }]],
  getAccountMetricsHistory: [[422, { query: "?end=soon" }]],
  listEndpointBuilds: [[422, { query: "?limit=101" }]],
  createEndpoint: [
    [400, { body: { ...ENDPOINT, cpu: [{ id: "cpu3c", vcpuCount: 2 }] } }],
    [404, { body: { templateId: "nothing" } }],
  ],
};

/** A valid body for a call with an id that does not exist. */
export const fitting: Record<string, unknown> = {
  ...fittingPeopleBodies,
  updateSecret: { value: "w" },
  updateEndpoint: { name: "n" },
  updatePublicEndpoint: { everyone: true },
  deployHubListing: {},
  updateNetworkVolume: { name: "n" },
  updatePod: { name: "n" },
  updateCluster: { name: "n" },
  podAction: { action: "stop" },
  machineAction: { action: "drain" },
  ...fittingInstallationBodies,
  ...fittingModelBodies,
  createPodTerminal: {},
  createWorkerTerminal: {},
  updateTemplate: { name: "n" },
  createVolumeFolder: { path: "p" },
  moveVolumeFile: { from: "p", to: "q" },
  createVolumeFileLink: { path: "p" },
};
