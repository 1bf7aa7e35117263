/** How much an account may have, and what a request for more is answered. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { setup } from "../../../tests/world.ts";
import type { Kept } from "../../kernel/document.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Bound } from "../../ports/store/store.ts";
import { type Amount, parseQuotas, quotaText, standardQuotas } from "./quotas.ts";

const CPU = { name: "echo", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const quotas = {
  ...standardQuotas(4),
  workers: 2,
  endpoints: 2,
  keys: 3,
  secrets: 2,
  pods: 2,
  registries: 2,
  templates: 2,
};
const ASK = "Who runs this installation can allow more: millrace accounts quota.";

const kinds = [
  ["endpoints", "/v2/serverless", 2, () => CPU],
  ["API keys", "/v2/account/api-keys", 2, () => ({ scopes: ["secrets:read"] })],
  ["secrets", "/v2/account/secrets", 2, (n: number) => ({ name: `s${n}`, value: "v" })],
  ["templates", "/v2/templates", 2, (n: number) => ({ name: `t${n}`, image: "busybox" })],
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

describe("amounts", () => {
  const SIZED: Kept<{ size: number }> = { kind: "sized", v: 1 };

  /** A quota book, and a way to make things that count against two quotas. */
  const book = async (given: string) => {
    const world = await setup({ quotas: { ...quotas, ...parseQuotas(given) } });
    const things = new Collection(world.store, SIZED);
    const counted = (size: number) => [
      { name: "gb", of: [things.held({ account: "a" }, "size")], amount: size } as const,
      { name: "volumes", of: [things.held({ account: "a" })], amount: 1 } as const,
    ];
    let n = 0;
    const insert = (size: number) => (within: Bound[]) =>
      things.insert({ id: `t${n++}`, account: "a", createdAt: 0, doc: { size } }, within);
    const make = (size: number, amounts: readonly Amount[] = counted(size)) =>
      world.services.quotas.withinAll("a", amounts, insert(size));
    const sizes = async () => (await things.list({ limit: 9 })).map(({ doc }) => doc.size).toSorted();
    return { world, make, counted, sizes };
  };

  test("so much more is made if it fits, and nothing of it otherwise", async () => {
    const { world, make, sizes } = await book("gb=100,volumes=9");
    await using _ = world;
    await make(60);
    await expect(make(60)).rejects.toThrow(
      `This account has 60 GB of network volumes, and may have 100 (quota 'gb'); 60 more would be too many. ${ASK}`,
    );
    await make(40);
    await expect(make(1)).rejects.toThrow(
      `This account has 100 GB of network volumes, and may have 100 (quota 'gb'). ${ASK}`,
    );
    expect(await sizes()).toEqual([40, 60]);
  });

  test("of two at once that fit only one after the other, one is made", async () => {
    const { world, make, sizes } = await book("gb=100,volumes=9");
    await using _ = world;
    const both = await Promise.allSettled([make(60), make(60)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await make(40);
    expect(await sizes()).toEqual([40, 60]);
  });

  test("what counts in several ways is refused by the first that is too much, whatever order they come in", async () => {
    const { world, make, counted } = await book("gb=2,volumes=0");
    await using _ = world;
    await expect(make(4)).rejects.toThrow("(quota 'volumes')");
    await expect(make(4, counted(4).toReversed())).rejects.toThrow("(quota 'volumes')");
    await expect(make(4, [counted(4)[0]!])).rejects.toThrow("0 GB of network volumes, and may have 2 (quota 'gb')");
    await make(2, [counted(2)[0]!]);
    await make(2, []);
  });

  test("who takes no more is never refused, also where less is allowed than before", async () => {
    const { world, make, counted, sizes } = await book("gb=10");
    await using _ = world;
    await make(50, []);
    await make(0, [counted(0)[0]!]);
    expect(await sizes()).toEqual([0, 50]);
  });
});

test("endpoints of one account share its GPUs, and jobs that wait name the quota", async () => {
  const gpus = [{ type: "NVIDIA L4", count: 8, virtual: false }];
  const machine = { capacity: { vcpu: 64, memoryMb: 512 * 1024, gpus } };
  const gpu = { id: "NVIDIA L4", count: 2 };
  const endpoint = { gpu, workers: { min: 1, max: 1 } };
  await using world = await setupFleet({ quotas: { ...quotas, gpus: 3 }, machine, endpoint });
  await world.settle();
  expect(world.running()).toHaveLength(1);
  const body = { name: "second", image: "host:/other", gpu };
  const other = (await world.call("POST", "/v2/serverless", { body })).json.id;
  const job = (await world.call("POST", `/v2/${other}/run`, { body: { input: {} } })).json.id;
  await world.settle();
  const waiting = (await world.call("GET", `/v2/${other}/status/${job}`)).json.waitReason;
  expect(waiting).toBe("account quota: 2 of 3 GPUs in use, needs 2");
  expect(world.running()).toHaveLength(1);
});

test("quotas are read and written as text", () => {
  expect(parseQuotas("workers=5, keys=0")).toEqual({ workers: 5, keys: 0 });
  expect(parseQuotas("")).toEqual({});
  expect(quotaText({ workers: 5, keys: 0 })).toBe("workers=5,keys=0");
  for (const text of ["workers", "workers=", "dogs=3", "workers=-1", "workers=1000001"])
    expect(() => parseQuotas(text)).toThrow("must be written such as");
});

test("a small machine's accounts have few workers, a large one's many", () => {
  expect([1, 2, 64].map((processors) => standardQuotas(processors).workers)).toEqual([32, 32, 1024]);
});
