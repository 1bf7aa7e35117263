/** Calls of the operations on the accounts and prices of an installation, for the tests that call everything. */
import { EVERYONE, machines, nodes } from "../src/machines/nodes.ts";
import { Collection } from "../src/ports/store/collection.ts";
import type { World } from "./world.ts";

const makeAccount = async (world: World): Promise<string> =>
  (await world.call("POST", "/v2/installation/accounts", { body: { name: "made" } })).json.id;

async function makeCredited(world: World): Promise<string> {
  const id = await makeAccount(world);
  const body = { amount: 1, reference: "invoice-7" };
  await world.call("POST", `/v2/installation/accounts/${id}/credit`, { body });
  return id;
}

const aliveNode = async (world: World): Promise<string> =>
  (await world.call("GET", "/v2/installation/nodes")).json.nodes[0].id;

const VOLUME = { name: "made", size: 10, dataCenter: "EU-RO-1" };
const DAY_MS = 24 * 3_600_000;
/** A node that was silent for this long is gone. */
const GONE_MS = 31_000;

/** Puts a node on record that last reported a day ago, with a machine of the same name. */
export async function makeGoneNode({ store, clock, call }: Pick<World, "store" | "clock" | "call">, id = "gone") {
  const seenAt = clock.now() - DAY_MS;
  const at = { id, account: EVERYONE, createdAt: seenAt };
  const machine = { node: id, boxes: [], dataCenter: "EU-RO-1" };
  await new Collection(store, nodes).put({ ...at, doc: { seenAt, machines: [id], activeAt: {} } });
  await new Collection(store, machines).put({ ...at, doc: machine });
  await call("GET", "/v2/installation/nodes");
  await clock.advance(GONE_MS);
  return id;
}

/** Its machine has the contents of a network volume. */
async function makeHoldingNode(world: World): Promise<string> {
  const id = await makeGoneNode(world);
  const { id: volume } = (await world.call("POST", "/v2/network-volumes", { body: VOLUME })).json;
  await world.services.volumeRecords.change(volume, () => ({ set: { machine: id } }));
  return id;
}

export const goodInstallationCalls = {
  deleteInstallationNode: async (world: World) => ({ id: await makeGoneNode(world) }),
  listInstallationAccounts: async () => ({}),
  createInstallationAccount: async () => ({ body: { name: "team-a", email: "a@team.test" } }),
  getInstallationAccount: async (world: World) => ({ id: world.owner.account }),
  updateInstallationAccount: async (world: World) => ({
    ...{ id: await makeAccount(world), body: { quotas: { workers: 5, pods: null }, spendLimitMost: 10 } },
  }),
  creditInstallationAccount: async (world: World) => ({
    ...{ id: await makeAccount(world), body: { amount: 25, reference: "invoice-7" } },
  }),
  listInstallationAccountKeys: async (world: World) => ({ id: await makeAccount(world) }),
  createInstallationAccountKey: async (world: World) => ({
    ...{ id: await makeAccount(world), body: { name: "ci", scopes: ["read-only"] } },
  }),
  deleteInstallationAccountKey: async (world: World) => {
    const id = await makeAccount(world);
    const { apiKeys } = (await world.call("GET", `/v2/installation/accounts/${id}/keys`)).json;
    return { id, keyId: apiKeys[0].id };
  },
  deleteInstallationAccount: async (world: World) => ({ id: await makeAccount(world) }),
  listPrices: async () => ({}),
  setPrices: async () => ({ body: { id: "NVIDIA L4", prices: { secure: 0.5, serverless: null } } }),
  exportInstallationBilling: async () => ({}),
  getInstallationUsage: async () => ({}),
};

export const ownInstallationRefusals = {
  deleteInstallationNode: [
    [400, { id: makeHoldingNode }],
    [409, { id: aliveNode }],
  ],
  listInstallationAccounts: [[422, { query: "?limit=0" }]],
  createInstallationAccount: [[409, { id: makeAccount, body: { name: "Made" } }]],
  updateInstallationAccount: [[409, { id: makeAccount, body: { name: "Default" } }]],
  creditInstallationAccount: [[409, { id: makeCredited, body: { amount: 2, reference: "invoice-7" } }]],
  exportInstallationBilling: [
    [400, { query: "?startTime=2020-01-01T00:00:00Z" }],
    [404, { query: "?accountId=nothing" }],
    [422, { query: "?format=pdf" }],
  ],
  deleteInstallationAccount: [[400, { id: async (world: World) => world.owner.account }]],
  setPrices: [[400, { body: { id: "NVIDIA L4", prices: { moon: 1 } } }]],
} as const;

/** Valid bodies for calls with an id that does not exist. */
export const fittingInstallationBodies = {
  updateInstallationAccount: { spendLimitMost: 1 },
  creditInstallationAccount: { amount: 1 },
  createInstallationAccountKey: { scopes: ["all"] },
};
