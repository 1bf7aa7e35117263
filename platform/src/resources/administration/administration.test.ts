/** What the owner of the installation sees and sets: accounts with quotas and money, prices, and what is full. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { CPU_POD } from "../../../tests/pod-world.ts";
import { setup, type World } from "../../../tests/world.ts";
import { administrationOperations } from "./operations.ts";

const ACCOUNTS = "/v2/installation/accounts";
const PRICES = "/v2/installation/prices";
const USAGE = "/v2/installation/usage";

const create = async (world: World, name: string) =>
  (await world.call("POST", ACCOUNTS, { body: { name, email: `${name}@team.test` } })).json;

test("an account is created with a key that works, listed, and found by its id", async () => {
  await using world = await setup();
  const { key, ...made } = await create(world, "team-a");
  expect(made).toMatchObject({
    ...{ name: "team-a", owner: "team-a@team.test", isFirst: false, quotas: {}, balance: null, spentThisMonth: 0 },
    ...{ spendLimit: 0, spendLimitMost: 0, refusal: null, limits: { pods: 1000 } },
  });
  expect((await world.call("GET", "/v2/account", { key })).json).toMatchObject({ id: made.id, name: "team-a" });
  const { accounts } = (await world.call("GET", ACCOUNTS)).json;
  expect(accounts.map(({ name, isFirst }: { name: string; isFirst: boolean }) => [name, isFirst])).toEqual(
    expect.arrayContaining([
      ["team-a", false],
      ["default", true],
    ]),
  );
  expect(JSON.stringify(accounts)).not.toContain(key);
  expect((await world.call("GET", `${ACCOUNTS}/${made.id}`)).json).toEqual(made);
});

test("a name that is taken, an address that is none, and an account that nobody knows are refused with the reason", async () => {
  await using world = await setup();
  await create(world, "team-a");
  const taken = await world.call("POST", ACCOUNTS, { body: { name: "TEAM-A" } });
  expect([taken.status, taken.json.detail]).toEqual([409, "An account named 'TEAM-A' already exists."]);
  expect((await world.call("POST", ACCOUNTS, { body: { name: "b", email: "nobody" } })).status).toBe(422);
  expect((await world.call("GET", `${ACCOUNTS}/nowhere`)).status).toBe(404);
  // Ids only: a path never means an account by its name.
  expect((await world.call("DELETE", `${ACCOUNTS}/team-a`)).status).toBe(404);
});

test("accounts come in pages", async () => {
  await using world = await setup();
  for (const name of ["a", "b"]) await create(world, name);
  const one = (await world.call("GET", `${ACCOUNTS}?limit=2`)).json;
  const two = (await world.call("GET", `${ACCOUNTS}?limit=2&cursor=${one.pagination.nextCursor}`)).json;
  const names = [...one.accounts, ...two.accounts].map(({ name }: { name: string }) => name);
  expect([names.toSorted(), two.pagination.hasNextPage]).toEqual([["a", "b", "default"], false]);
});

test("quotas are changed one by one, apply at once, and null returns to those of the installation", async () => {
  await using world = await setup();
  const { id, key } = await create(world, "team-a");
  const patch = async (body: object) => (await world.call("PATCH", `${ACCOUNTS}/${id}`, { body })).json;
  expect(await patch({ quotas: { secrets: 0, pods: 5 } })).toMatchObject({ quotas: { secrets: 0, pods: 5 } });
  const secret = { key, body: { name: "token", value: "v" } };
  expect((await world.call("POST", "/v2/account/secrets", secret)).json.detail).toContain("may have 0");
  const after = await patch({ quotas: { secrets: null } });
  expect([after.quotas, after.limits.secrets]).toEqual([{ pods: 5 }, 1000]);
  expect((await world.call("POST", "/v2/account/secrets", secret)).status).toBe(201);
  const wrong = await world.call("PATCH", `${ACCOUNTS}/${id}`, { body: { quotas: { moons: 1 } } });
  expect(wrong.status).toBe(422);
});

test("a spend limit and credit apply to the account, and can be taken back", async () => {
  await using world = await setup();
  const { id, key } = await create(world, "team-a");
  const patch = async (body: object) => (await world.call("PATCH", `${ACCOUNTS}/${id}`, { body })).json;
  expect(await patch({ spendLimitMost: 12.5 })).toMatchObject({ spendLimitMost: 12.5 });
  const beyond = await world.call("PATCH", "/v2/account", { key, body: { spendLimit: 20 } });
  expect(beyond.status).toBe(400);
  const credited = await world.call("POST", `${ACCOUNTS}/${id}/credit`, { body: { amount: 25 } });
  expect(credited.json).toMatchObject({ balance: 25, refusal: null });
  expect(await patch({ balance: null, spendLimitMost: 0 })).toMatchObject({ balance: null, spendLimitMost: 0 });
  expect((await world.call("POST", `${ACCOUNTS}/${id}/credit`, { body: { amount: -1 } })).status).toBe(422);
});

test("a deleted account is gone with its keys and resources, and the first one stays", async () => {
  await using world = await setupFleet();
  const { id, key } = await create(world, "team-a");
  await world.call("POST", "/v2/account/secrets", { key, body: { name: "token", value: "v" } });
  await world.call("POST", "/v2/pods", { key, body: CPU_POD });
  expect((await world.call("DELETE", `${ACCOUNTS}/${id}`)).status).toBe(204);
  await world.pass(3);
  expect((await world.call("GET", "/v2/account", { key })).status).toBe(401);
  expect(await world.store.list({ kind: "pod", account: id, limit: 10 })).toEqual([]);
  const first = await world.call("DELETE", `${ACCOUNTS}/${world.owner.account}`);
  expect([first.status, first.json.detail]).toEqual([400, expect.stringContaining("cannot be deleted")]);
});

test("prices are listed, set for a type and returned to the catalog", async () => {
  await using world = await setup();
  const priceOf = async (id: string) =>
    (await world.call("GET", PRICES)).json.gpus.find((gpu: { id: string }) => gpu.id === id);
  const before = await priceOf("NVIDIA L4");
  const set = (body: object) => world.call("POST", PRICES, { body });
  const { status, json } = await set({ id: "NVIDIA L4", prices: { secure: 0.123456789 } });
  expect([status, Date.parse(json.from)]).toEqual([200, expect.any(Number)]);
  expect((await world.call("GET", PRICES)).json.changesAt).toEqual([json.from]);
  await world.clock.advance(10_000);
  expect((await priceOf("NVIDIA L4")).secure).toBe(0.123456789);
  await set({ id: "NVIDIA L4", prices: { secure: null } });
  await set({ id: "storage", prices: { networkVolumePerGbMonth: 0.5 } });
  await world.clock.advance(10_000);
  expect(await priceOf("NVIDIA L4")).toEqual(before);
  expect((await world.call("GET", PRICES)).json.storage.networkVolumePerGbMonth).toBe(0.5);
  for (const [body, text] of [
    [{ id: "NVIDIA L4", prices: { moon: 1 } }, "has no price 'moon'"],
    [{ id: "Moon", prices: { secure: 1 } }, "the catalog has no GPU type"],
  ] as const)
    expect((await set(body)).json.detail).toContain(text);
  expect((await set({ id: "NVIDIA L4", prices: {} })).status).toBe(422);
  expect((await set({ id: "NVIDIA L4", prices: { secure: -1 } })).status).toBe(422);
});

test("what is full is said: memory for bodies, connections, and the longest queues", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 0, max: 0 } } });
  for (let n = 0; n < 3; n++) await world.submit();
  using _ = world.memory.note("acc", 1_000_000);
  const { json } = await world.call("GET", USAGE);
  expect(json).toMatchObject({
    ...{ node: "machine", refusal: null, disk: null, bodies: { held: 1_000_000, waiting: 0 } },
    connections: { most: 10_000 },
    queue: { inQueue: 3, inProgress: 0, endpoints: 1 },
  });
  expect(json.connections.open).toBeGreaterThan(0);
  expect(json.queue.longest).toEqual([
    { endpointId: world.endpoint, accountId: world.owner.account, inQueue: 3, inProgress: 0 },
  ]);
});

test("nobody but the installation's owner may do any of it, and each change is in the owner's audit log", async () => {
  await using world = await setup();
  const { id, key } = await create(world, "team-a");
  const bodies: Record<string, unknown> = {
    createInstallationAccount: { name: "b" },
    updateInstallationAccount: { spendLimitMost: 1 },
    creditInstallationAccount: { amount: 1 },
    createInstallationAccountKey: { scopes: ["all"] },
    setPrices: { id: "NVIDIA L4", prices: { secure: 1 } },
  };
  for (const other of [key, await world.newKey({ scopes: ["account:write"] })]) {
    for (const [name, { method, path }] of Object.entries(administrationOperations)) {
      const at = path.replace("{id}", id).replace("{keyId}", "zzzzzzzzzzzzzz");
      expect([name, (await world.call(method, at, { key: other, body: bodies[name] })).status]).toEqual([name, 403]);
    }
  }
  for (const name of ["updateInstallationAccount", "creditInstallationAccount", "deleteInstallationAccount"] as const) {
    const { method, path } = administrationOperations[name];
    expect((await world.call(method, path.replace("{id}", id), { body: bodies[name] })).status).toBeLessThan(300);
  }
  const { entries } = (await world.call("GET", "/v2/account/audit")).json;
  const done = entries.filter(({ outcome }: { outcome: string }) => outcome === "done");
  expect(done.map(({ operation, resource }: Record<string, { id?: string }>) => [operation, resource?.id])).toEqual([
    ["deleteInstallationAccount", id],
    ["creditInstallationAccount", id],
    ["updateInstallationAccount", id],
    ["createInstallationAccount", id],
  ]);
});
