/** An endpoint that one account shares: who may call it, what each sees, whose turn it is, and what it costs. */
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const HOUR = 3_600_000;
const PATH = "/v2/public-endpoints";

async function setup(share: object = {}) {
  const world = await setupJobs({ rateLimits: "off" });
  const guest = await world.services.accounts.create("guest", "guest@localhost");
  const other = await world.services.accounts.create("other", "other@localhost");
  const keys = { guest: await world.newKey({ of: guest }), other: await world.newKey({ of: other }) };
  const share$ = (body: object, key?: string) =>
    world.call("POST", PATH, { body: { name: "a-model", endpointId: world.endpoint, ...body }, ...(key && { key }) });
  const made = await share$({ accounts: [guest.account], ...share });
  return {
    ...world,
    made,
    share: share$,
    keys,
    accounts: { guest: guest.account, other: other.account },
    by: (key: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
      world.call(method, `/v2/a-model${path}`, { key, body, ...(headers && { headers }) }),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

type Shared = Awaited<ReturnType<typeof setup>>;

const submit = async ({ by }: Shared, key: string, input: object = {}) =>
  (await by(key, "POST", "/run", { input })).json.id as string;

async function finish(worker: TestWorker, result: object = { output: "done" }): Promise<string> {
  const job = (await worker.take())!;
  await worker.done(job.id, result);
  return job.id;
}

describe("sharing", () => {
  test("its own account sees all of it, a caller no endpoint and no other callers", async () => {
    await using world = await setup({ title: "A model", price: { perRequest: 0.5 }, limits: { jobsAtOnce: 3 } });
    const open = {
      ...{ id: "a-model", name: "a-model", title: "A model", description: "", everyone: false },
      price: { perRequest: 0.5, perSecond: 0, perMillionInputTokens: 0, perMillionOutputTokens: 0 },
      limits: { requestsPerMinute: 0, jobsAtOnce: 3 },
      workerPerAccount: false,
      type: "QUEUE",
      requestUrl: "https://millrace.test/v2/a-model",
      createdAt: expect.any(String),
    };
    const secret = { accounts: [world.accounts.guest], endpointId: world.endpoint };
    expect([world.made.status, world.made.json]).toEqual([201, { ...open, ...secret, own: true }]);
    const { json } = await world.call("GET", `${PATH}/a-model`, { key: world.keys.guest });
    expect(json).toEqual({ ...open, own: false });
    const listed = async (key: string) => (await world.call("GET", PATH, { key })).json.publicEndpoints.length;
    expect([await listed(world.keys.guest), await listed(world.keys.other)]).toEqual([1, 0]);
    expect((await world.call("GET", `${PATH}/a-model`, { key: world.keys.other })).status).toBe(404);
  });

  test.each([
    ["a name that is taken", { name: "a-model" }, 400, "already exists"],
    ["a second name of the same endpoint", { name: "b-model" }, 400, "already shared"],
    ["a reserved name", { name: "pods" }, 422, "reserved"],
    ["a name in the form of an id", { name: "abcdefghijklmn" }, 422, "in the form of an id"],
    ["a name that is no address", { name: "A model" }, 422, "$.name"],
    ["a name that ends in a hyphen", { name: "model-" }, 422, "$.name"],
    ["an unknown endpoint", { name: "c-model", endpointId: "aaaaaaaaaaaaaa" }, 404, "endpoint not found"],
    ["a price below nothing", { name: "c-model", price: { perSecond: -1 } }, 422, "$.price"],
  ])("refuses %s", async (_, body, status, why) => {
    await using world = await setup();
    const answer = await world.share(body);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(why)]);
  });

  test("another account can neither share, change nor end what is not its own", async () => {
    await using world = await setup();
    const { guest: key } = world.keys;
    expect((await world.share({ name: "mine-now" }, key)).status).toBe(404);
    const body = { everyone: true };
    expect((await world.call("PATCH", `${PATH}/a-model`, { key, body })).status).toBe(404);
    expect((await world.call("DELETE", `${PATH}/a-model`, { key })).status).toBe(404);
    expect((await world.call("GET", `${PATH}/a-model/use`, { key })).status).toBe(404);
  });

  test("ends with the deletion of the name or of the endpoint, and the name is free", async () => {
    await using world = await setup();
    expect((await world.call("DELETE", `${PATH}/a-model`)).status).toBe(204);
    expect((await world.by(world.keys.guest, "POST", "/run", { input: {} })).status).toBe(404);
    expect((await world.share({ everyone: true })).status).toBe(201);
    await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
    expect((await world.by(world.keys.guest, "POST", "/run", { input: {} })).status).toBe(404);
    expect((await world.call("GET", PATH)).json.publicEndpoints).toEqual([]);
  });
});

test("public clients find them in GraphQL, without a key those for everyone", async () => {
  await using world = await setup({ title: "A model", price: { perRequest: 1 } });
  const query = "{ allAiApiPublicConfigs { id aiApiId modelName displayName metadata isLive } }";
  const ask = async (key: string | null) =>
    (await world.call("POST", "/graphql", { key, body: { query } })).json.data.allAiApiPublicConfigs;
  expect([await ask(null), await ask(world.keys.other)]).toEqual([[], []]);
  const [found] = await ask(world.keys.guest);
  expect(found).toMatchObject({ id: "a-model", modelName: "a-model", displayName: "A model", isLive: true });
  expect(JSON.parse(found.metadata).price.perRequest).toBe(1);
  await world.call("PATCH", `${PATH}/a-model`, { body: { everyone: true } });
  expect((await ask(null)).length).toBe(1);
});

describe("a caller", () => {
  test("submits under the name, and reads what became of it, without the worker", async () => {
    await using world = await setup();
    const worker = await world.worker();
    const id = await submit(world, world.keys.guest, { n: 1 });
    await finish(worker, { output: { n: 2 } });
    const { json } = await world.by(world.keys.guest, "GET", `/status/${id}`);
    expect(json).toMatchObject({ id, status: "COMPLETED", output: { n: 2 } });
    expect(json).not.toHaveProperty("workerId");
    expect(await world.status(id)).not.toHaveProperty("workerId");
  });

  test("does not exist for others: neither a stranger nor another guest reaches its jobs", async () => {
    await using world = await setup({ everyone: true });
    const id = await submit(world, world.keys.guest);
    const { other } = world.keys;
    for (const [method, path] of [
      ["GET", `/status/${id}`],
      ["GET", `/status-sync/${id}`],
      ["GET", `/stream/${id}`],
      ["POST", `/cancel/${id}`],
      ["POST", `/retry/${id}`],
      ["GET", `/requests/${id}`],
      ["GET", `/output/${id}`],
    ] as const)
      expect([path, (await world.by(other, method, path)).status]).toEqual([path, 404]);
    expect((await world.by(other, "GET", "/requests")).json).toMatchObject({ total: 0 });
    expect((await world.by(world.keys.guest, "GET", "/requests")).json).toMatchObject({
      total: 1,
      requests: [{ id, caller: world.accounts.guest }],
    });
    expect((await world.by(world.keys.guest, "POST", `/cancel/${id}`)).json).toMatchObject({ status: "CANCELLED" });
  });

  test("reaches the endpoint by its name only", async () => {
    await using world = await setup();
    const { guest: key } = world.keys;
    expect((await world.invoke("POST", "/run", { key, body: { input: {} } })).status).toBe(404);
  });

  test.each([
    ["POST", "/purge-queue"],
    ["GET", "/metrics"],
    ["POST", "/batch"],
    ["GET", "/batch"],
  ])("%s %s is for the account that shares it: 403", async (method, path) => {
    await using world = await setup();
    const answer = await world.by(world.keys.guest, method, path, method === "POST" ? [] : undefined);
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("only the account that shares")]);
  });

  test("sees its own numbers and a general reason in /health, and nothing about workers", async () => {
    await using world = await setup();
    await world.submit();
    await submit(world, world.keys.guest);
    const { json } = await world.by(world.keys.guest, "GET", "/health");
    expect(json.jobs).toEqual({ inProgress: 0, inQueue: 1 });
    expect(json).not.toHaveProperty("workers");
    const status = (await world.by(world.keys.guest, "GET", `/status/${await submit(world, world.keys.guest)}`)).json;
    expect(status).toMatchObject({ waitReasonCode: "no-worker" });
    expect(status.waitReason).not.toContain("3 jobs");
  });

  test("has idempotency keys of its own", async () => {
    await using world = await setup({ everyone: true });
    const key = { "idempotency-key": "same" };
    const post = async (who: string) => (await world.by(who, "POST", "/run", { input: {} }, key)).json.id;
    const mine = await post(world.keys.guest);
    expect(await post(world.keys.guest)).toBe(mine);
    expect(await post(world.keys.other)).not.toBe(mine);
    expect(await post(world.key)).not.toBe(mine);
  });

  test("needs the scope, and a key that is not narrowed to other endpoints", async () => {
    await using world = await setup({ everyone: true });
    const of = await world.services.accounts.ownerOf("guest");
    const weak = await world.newKey({ of, scopes: ["read-only"] });
    expect((await world.by(weak, "POST", "/run", { input: {} })).status).toBe(403);
    const narrow = await world.newKey({ of, endpoints: ["bbbbbbbbbbbbbb"] });
    expect((await world.by(narrow, "POST", "/run", { input: {} })).status).toBe(403);
    const meant = await world.newKey({ of, endpoints: ["a-model"] });
    expect((await world.by(meant, "POST", "/run", { input: {} })).status).toBe(200);
  });

  test("keeps a worker no longer than the endpoint's own time limit", async () => {
    await using world = await setup();
    const body = { input: {}, policy: { executionTimeout: 86_400_000 } };
    const { id } = (await world.by(world.keys.guest, "POST", "/run", body)).json;
    const { timeout } = (await world.call("GET", `/v2/serverless/${world.endpoint}`)).json;
    const { json } = await world.by(world.keys.guest, "GET", `/requests/${id}`);
    expect(json.policy.executionTimeout).toBe(timeout);
  });

  test("who loses access is told that there is no such endpoint", async () => {
    await using world = await setup();
    await world.call("PATCH", `${PATH}/a-model`, { body: { accounts: [] } });
    expect((await world.by(world.keys.guest, "POST", "/run", { input: {} })).status).toBe(404);
  });

  test("is held to the owner's limits", async () => {
    await using world = await setup({ everyone: true, limits: { jobsAtOnce: 2, requestsPerMinute: 3 } });
    const { guest, other } = world.keys;
    const statuses = async (key: string, times: number) => {
      const all: number[] = [];
      for (let i = 0; i < times; i++) all.push((await world.by(key, "POST", "/run", { input: {} })).status);
      return all;
    };
    expect(await statuses(guest, 3)).toEqual([200, 200, 429]);
    expect(await statuses(other, 1)).toEqual([200]);
    expect(await statuses(world.key, 5)).toEqual([200, 200, 200, 200, 200]);
    await world.invoke("POST", "/purge-queue");
    await world.clock.advance(1000);
    expect(await statuses(guest, 2)).toEqual([200, 429]);
  });
});

test("callers take turns, whoever submitted most", async () => {
  await using world = await setup({ everyone: true });
  const { guest, other } = world.keys;
  const names = new Map<string, string>();
  for (let i = 0; i < 6; i++) names.set(await submit(world, guest), "guest");
  for (let i = 0; i < 2; i++) names.set(await submit(world, other), "other");
  const own = (await world.by(world.key, "POST", "/run", { input: {} })).json.id;
  names.set(own, "own");
  const worker = await world.worker();
  await worker.ping();
  const order: (string | undefined)[] = [];
  for (let i = 0; i < 9; i++) order.push(names.get(await finish(worker)));
  expect(order.slice(0, 3).sort()).toEqual(["guest", "other", "own"]);
  expect(order.slice(3, 5).sort()).toEqual(["guest", "other"]);
  expect(order.slice(5)).toEqual(["guest", "guest", "guest", "guest"]);
});

describe("money", () => {
  const price = { perRequest: 0.001, perSecond: 0.01, perMillionInputTokens: 2, perMillionOutputTokens: 4 };
  const bill = async (world: JobWorld, key: string, path = "/endpoints") =>
    (await world.call("GET", `/v2/billing${path}?lastN=1`, { key })).json;
  const usage = { usage: { prompt_tokens: 1000, completion_tokens: 500 } };

  test("a completed job pays for the request, its seconds and its tokens, and the bills of both sides agree", async () => {
    await using world = await setup({ price });
    const worker = await world.worker();
    await submit(world, world.keys.guest);
    const job = (await worker.take())!;
    world.clock.jump(2500);
    await worker.done(job.id, { output: usage });
    // 0.001 for the request, 2.5 s at 0.01, and 1,000 and 500 tokens at 2 and 4 for a million.
    const owed = 0.03;
    const { records, metadata } = await bill(world, world.keys.guest);
    expect([records.length, records[0].totalAmount, metadata.totals.totalAmount]).toEqual([1, owed, owed]);
    const all = await bill(world, world.keys.guest, "");
    expect(all.metadata.totals).toMatchObject({ endpointAmount: owed, totalAmount: owed });
    expect((await bill(world, world.key)).records).toEqual([]);
    const { json } = await world.call("GET", `${PATH}/a-model/use?lastN=1`);
    expect(json).toMatchObject({ income: owed });
    expect(json.use).toMatchObject([
      {
        ...{ accountId: world.accounts.guest, accountName: "guest", requests: 1, executionMs: 2500 },
        ...{ inputTokens: 1000, outputTokens: 500, amount: owed },
      },
    ]);
  });

  test("a failed job costs nothing, and one that its caller cancels costs the time that it ran", async () => {
    await using world = await setup({ price });
    const worker = await world.worker();
    await submit(world, world.keys.guest);
    await finish(worker, { error: "no" });
    expect((await bill(world, world.keys.guest)).records).toEqual([]);
    const id = await submit(world, world.keys.guest);
    await worker.take();
    world.clock.jump(1000);
    await world.by(world.keys.guest, "POST", `/cancel/${id}`);
    expect((await bill(world, world.keys.guest)).metadata.totals.totalAmount).toBe(0.01);
  });

  test("the account's own jobs cost nothing here, and a job keeps the price that it began with", async () => {
    await using world = await setup({ price });
    const worker = await world.worker();
    await world.by(world.key, "POST", "/run", { input: {} });
    await submit(world, world.keys.guest);
    await world.call("PATCH", `${PATH}/a-model`, { body: { price: { perRequest: 100 } } });
    await finish(worker);
    await finish(worker);
    expect((await bill(world, world.keys.guest)).metadata.totals.totalAmount).toBe(0.001);
    expect((await world.call("GET", `${PATH}/a-model/use?lastN=1`)).json.use).toHaveLength(1);
  });

  test("the spend limit of a key counts what that key's jobs cost, and no other key's", async () => {
    await using world = await setup({ price: { perRequest: 2 } });
    const body = { scopes: ["all"], spendLimit: 3 };
    const made = await world.call("POST", "/v2/account/api-keys", { key: world.keys.guest, body });
    const limited: string = made.json.key;
    const worker = await world.worker();
    for (const key of [world.keys.guest, limited, limited]) {
      expect((await world.by(key, "POST", "/run", { input: {} })).status).toBe(200);
      await finish(worker);
      await world.clock.advance(1500);
    }
    const refused = await world.by(limited, "POST", "/run", { input: {} });
    expect([refused.status, refused.text]).toEqual([402, expect.stringContaining("API key")]);
    expect((await world.by(world.keys.guest, "POST", "/run", { input: {} })).status).toBe(200);
  });

  test("tokens count that only the stream reports, in its last chunk", async () => {
    await using world = await setup({ price: { perMillionInputTokens: 100, perMillionOutputTokens: 200 } });
    const worker = await world.worker();
    const id = await submit(world, world.keys.guest);
    await worker.take();
    const chunk = (choices: object[], usage?: object) => `data: ${JSON.stringify({ choices, usage })}\n\n`;
    await worker.chunk(id, chunk([{ delta: { content: "a" } }]));
    await worker.chunk(id, chunk([], { prompt_tokens: 30, completion_tokens: 12 }));
    await worker.chunk(id, "data: [DONE]\n\n");
    await worker.done(id, { output: [] });
    const [charge] = await world.queue.charges({ caller: world.accounts.guest, from: 0, to: Number.MAX_SAFE_INTEGER });
    expect(charge).toMatchObject({ inputTokens: 30, outputTokens: 12, amount: 3_000_000 + 2_400_000 });
  });

  test("a spend limit holds: what is owed counts, and the next job is refused", async () => {
    await using world = await setup({ price: { perRequest: 2 } });
    const { guest: key } = world.keys;
    await world.call("PATCH", "/v2/account", { key, body: { spendLimit: 3 } });
    const worker = await world.worker();
    for (let i = 0; i < 2; i++) {
      expect((await world.by(key, "POST", "/run", { input: {} })).status).toBe(200);
      await finish(worker);
      await world.clock.advance(1500);
    }
    const refused = await world.by(key, "POST", "/run", { input: {} });
    expect([refused.status, refused.text]).toEqual([402, expect.stringContaining("Spend limit")]);
  });

  test("prepaid credit pays, also when more is added within the same hour", async () => {
    await using world = await setup({ price: { perRequest: 2 } });
    const { spending } = world.services;
    const balance = async () => (await spending.standing(world.accounts.guest)).balance! / 1e9;
    const worker = await world.worker();
    const pay = async () => {
      await submit(world, world.keys.guest);
      await finish(worker);
      await world.clock.advance(1500);
    };
    await spending.credit(world.accounts.guest, 10e9);
    await pay();
    expect(await balance()).toBe(8);
    await spending.credit(world.accounts.guest, 5e9);
    expect(await balance()).toBe(13);
    await pay();
    expect(await balance()).toBe(11);
    world.clock.jump(HOUR);
    await pay();
    expect(await balance()).toBe(9);
    world.clock.jump(62 * 24 * HOUR);
    await spending.settle(world.clock.now());
    expect(await balance()).toBe(9);
  });
});
