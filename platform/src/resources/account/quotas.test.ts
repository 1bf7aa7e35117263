/** How much an account may have, and what it is told beyond that. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { setup } from "../../../tests/world.ts";
import { parseQuotas, quotaText, standardQuotas } from "./quotas.ts";

const CPU = { name: "echo", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const quotas = { ...standardQuotas(1), workers: 2, endpoints: 2, keys: 3, secrets: 2, pods: 2, registries: 2 };
const ASK = "Who runs this installation can allow more: millrace accounts quota.";

const kinds = [
  ["endpoints", "/v2/serverless", 2, () => CPU],
  ["API keys", "/v2/account/api-keys", 2, () => ({ scopes: ["secrets:read"] })],
  ["secrets", "/v2/account/secrets", 2, (n: number) => ({ name: `s${n}`, value: "v" })],
  ["registries", "/v2/registries", 2, (n: number) => ({ name: `r${n}`, username: "u", password: "p" })],
] as const;

test.each(kinds)(
  "%s: no more than the account may have, however many are asked for at once",
  async (what, path, fit, body) => {
    await using world = await setup({ quotas });
    const make = (n: number, key?: string) => world.call("POST", path, { body: body(n), ...(key && { key }) });
    const made = await Promise.all([1, 2, 3, 4, 5].map((n) => make(n)));
    expect(made.map(({ status }) => status).toSorted()).toEqual([201, 201, 403, 403, 403]);
    const refused = made.find(({ status }) => status === 403)!;
    const [quota, has] = what === "API keys" ? [3, 3] : [fit, fit];
    const name = what === "API keys" ? "keys" : what;
    expect(refused.json.detail).toBe(
      `This account has ${has} ${what}, and may have ${quota} (quota '${name}'). ${ASK}`,
    );
    expect((await make(9, await world.strangersKey())).status).toBe(201);
  },
);

test("what is deleted makes room", async () => {
  await using world = await setup({ quotas });
  const make = () => world.call("POST", "/v2/serverless", { body: CPU });
  const { id } = (await make()).json;
  await make();
  expect((await make()).status).toBe(403);
  await world.call("DELETE", `/v2/serverless/${id}`);
  expect((await make()).status).toBe(201);
});

test("workers that are always kept cannot be more than the account may have, at creation and in a change", async () => {
  await using world = await setup({ quotas });
  const workers = { min: 3, max: 2000 };
  const detail = `'workers.min' is 3, and this account may have 2 workers at once. ${ASK}`;
  const refused = await world.call("POST", "/v2/serverless", { body: { ...CPU, workers } });
  expect([refused.status, refused.json.detail]).toEqual([400, detail]);
  const { status, json } = await world.call("POST", "/v2/serverless", {
    body: { ...CPU, workers: { min: 2, max: 2000 } },
  });
  expect(status).toBe(201);
  const changed = await world.call("PATCH", `/v2/serverless/${json.id}`, { body: { workers: { min: 3 } } });
  expect([changed.status, changed.json.detail]).toEqual([400, detail]);
});

test("an account may be given more, and less, which holds within a second", async () => {
  await using world = await setup({ quotas });
  const { accounts } = world.services;
  const make = async () => (await world.call("POST", "/v2/serverless", { body: CPU })).status;
  await accounts.setQuotas("default", { endpoints: 3 });
  await world.clock.advance(1000);
  expect([await make(), await make(), await make(), await make()]).toEqual([201, 201, 201, 403]);
  await accounts.setQuotas("default", {});
  await world.clock.advance(1000);
  expect(await world.services.quotas.of(world.owner.account)).toEqual(quotas);
  await expect(accounts.setQuotas("nobody", {})).rejects.toThrow("No account");
});

test("endpoints of one account share its workers, jobs that wait are told, and the next one starts when one ends", async () => {
  const machine = { capacity: { ceilings: true } };
  await using world = await setupFleet({ quotas, machine, endpoint: { workers: { min: 2, max: 2 } } });
  await world.settle();
  expect(world.running()).toHaveLength(2);
  const other = (await world.call("POST", "/v2/serverless", { body: { ...CPU, image: "host:/other" } })).json.id;
  const job = (await world.call("POST", `/v2/${other}/run`, { body: { input: {} } })).json.id;
  await world.settle();
  const status = async () => (await world.call("GET", `/v2/${other}/status/${job}`)).json.waitReason;
  expect(await status()).toBe("account quota: 2 of 2 workers in use");
  expect(world.running()).toHaveLength(2);
  await world.change({ workers: { min: 1, max: 1 } });
  await world.pass(3);
  expect(
    world
      .running()
      .map(({ instance }) => instance.spec.image)
      .toSorted(),
  ).toEqual(["host:/app", "host:/other"]);
});

test("quotas are read and written as text", () => {
  expect(parseQuotas("workers=5, keys=0")).toEqual({ workers: 5, keys: 0 });
  expect(parseQuotas("")).toEqual({});
  expect(quotaText({ workers: 5, keys: 0 })).toBe("workers=5,keys=0");
  for (const text of ["workers", "workers=", "boats=3", "workers=-1", "workers=1000001"])
    expect(() => parseQuotas(text)).toThrow("must be written such as");
});

test("a small machine's accounts have few workers, a large one's many", () => {
  expect([1, 2, 64].map((processors) => standardQuotas(processors).workers)).toEqual([32, 32, 1024]);
});
