/** Calls for every operation of the hub, for the tests that call every operation. */
import type { World } from "./world.ts";

export const goodHubCalls = {
  listHubListings: async () => ({}),
  getHubListing: async () => ({ id: "millrace.echo" }),
  deployHubListing: async () => ({ id: "millrace.echo", body: { name: "deployed", variables: { LEVEL: 4 } } }),
  listHubDeployments: async (world: World) => ({ id: await makeDeployment(world) }),
  getHubDeployment: async (world: World) => ({ id: await makeDeployment(world) }),
  testHubDeployment: async (world: World) => ({ id: await makeDeployment(world) }),
  updateHubDeployment: async (world: World) => ({ id: await makeOldDeployment(world) }),
  listHubSources: async () => ({}),
};

async function makeDeployment(world: World, test = false): Promise<string> {
  return (await world.call("POST", "/v2/hub/listings/millrace.echo/deploy", { body: { test } })).json.id;
}

/** Makes a deployment of a release that the hub has no more. */
async function makeOldDeployment(world: World, test = false): Promise<string> {
  const id = await makeDeployment(world, test);
  await world.services.hubRecords.deployments.change(id, () => ({ set: { release: "millrace.echo@older" } }));
  return id;
}

/** Makes a Pod of a listing that has no tests. */
const makeBox = async (world: World): Promise<string> =>
  (await world.call("POST", "/v2/hub/listings/millrace.box/deploy", { body: {} })).json.id;

/** A Pod is refused to an account that may spend no more. */
async function withoutMoney(world: World): Promise<string> {
  await world.services.spending.credit(world.owner.account, 0);
  return "millrace.box";
}

export const ownHubRefusals = {
  listHubListings: [[422, { query: "?type=SHIP" }]],
  deployHubListing: [
    [400, { id: async () => "millrace.echo", body: { gpuIds: "NO_SUCH_POOL" } }],
    [402, { id: withoutMoney, body: { name: "box" } }],
    [404, { id: async () => "millrace.none", body: {} }],
  ],
  listHubDeployments: [[422, { query: "?limit=0" }]],
  testHubDeployment: [
    [400, { id: makeBox }],
    [409, { id: (world: World) => makeDeployment(world, true) }],
  ],
  updateHubDeployment: [
    [400, { id: makeDeployment }],
    [409, { id: (world: World) => makeOldDeployment(world, true) }],
  ],
} as const;
