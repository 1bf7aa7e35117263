/** A hostile account that may call a shared endpoint: it reaches nothing of its owner and of other callers. */
import { describe, expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { setupJobs } from "../../../tests/job-world.ts";
import type { Answer } from "../../../tests/world.ts";

const PATH = "/v2/public-endpoints";
const SECRET = "sesame-of-the-victim";

/** A victim with a waiting, a running and a finished job, all with a secret in them, and an attacker who may call the same endpoint. */
async function setup() {
  const world = await setupJobs({ rateLimits: "off" });
  const accountOf = async (name: string) => {
    const of = await world.services.accounts.create(name, `${name}@localhost`);
    return { account: of.account, key: await world.newKey({ of }) };
  };
  const [victim, attacker] = [await accountOf("victim"), await accountOf("attacker")];
  await world.call("PATCH", `/v2/serverless/${world.endpoint}`, { body: { env: { OWN: SECRET } } });
  const price = { perRequest: 1 };
  await world.call("POST", PATH, { body: { name: "a-model", endpointId: world.endpoint, everyone: true, price } });
  const by = (key: string, method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    world.call(method, path, { key, ...(body !== undefined && { body }), ...(headers && { headers }) });
  const worker = await world.worker();
  const submit = async (headers?: Record<string, string>) => {
    const input = { secret: SECRET };
    return (await by(victim.key, "POST", "/v2/a-model/run", { input }, headers)).json.id as string;
  };
  const finished = await submit({ "idempotency-key": "mine" });
  await worker.done((await worker.take())!.id, { output: SECRET });
  const running = await submit();
  await worker.take();
  await worker.chunk(running, SECRET);
  const waiting = await submit();
  const jobs = { finished, running, waiting };
  return { ...world, by, victim, attacker, worker, jobs, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

type Attacked = Awaited<ReturnType<typeof setup>>;

const states = async ({ by, victim, jobs }: Attacked) =>
  Promise.all(
    Object.values(jobs).map(async (id) => (await by(victim.key, "GET", `/v2/a-model/status/${id}`)).json.status),
  );

describe("the jobs of another caller", () => {
  test.each([
    ["GET", "/status/"],
    ["POST", "/status-sync/"],
    ["GET", "/stream/"],
    ["GET", "/output/"],
    ["POST", "/cancel/"],
    ["POST", "/retry/"],
    ["GET", "/requests/"],
  ])("do not exist for %s %s", async (method, path) => {
    await using world = await setup();
    const before = await states(world);
    const { by, attacker } = world;
    for (const id of Object.values(world.jobs)) {
      for (const prefix of ["/v2/a-model", `/v2/${world.endpoint}`, "/v2/a-model/../a-model", "/v2//a-model"]) {
        const { status, text } = await by(attacker.key, method, `${prefix}${path}${id}`);
        expect([status, text]).toEqual([404, expect.not.stringContaining(SECRET)]);
      }
    }
    expect(await states(world)).toEqual(before);
  });

  test("are not in lists, counts, metrics and health, and nothing of theirs can be purged", async () => {
    await using world = await setup();
    const { by, attacker } = world;
    const list = await by(attacker.key, "GET", "/v2/a-model/requests");
    expect([list.status, list.json.requests ?? list.json.jobs ?? []]).toEqual([200, []]);
    expect((await by(attacker.key, "GET", "/v2/a-model/metrics")).status).toBe(403);
    expect((await by(attacker.key, "POST", "/v2/a-model/purge-queue")).status).toBe(403);
    expect((await by(attacker.key, "POST", "/v2/a-model/batch", { requests: [{ input: {} }] })).status).not.toBe(200);
    expect((await by(attacker.key, "GET", "/v2/a-model/health")).text).not.toMatch(new RegExp(world.worker.id));
    expect(await states(world)).toEqual(["COMPLETED", "IN_PROGRESS", "IN_QUEUE"]);
  });

  test("are not reached by their idempotency keys, also spelled with the victim's account", async () => {
    await using world = await setup();
    const { by, attacker, victim, jobs } = world;
    for (const key of ["mine", `${victim.account}\\nmine`, `${victim.account}%0Amine`]) {
      const { json } = await by(attacker.key, "POST", "/v2/a-model/run", { input: {} }, { "idempotency-key": key });
      expect(Object.values(jobs)).not.toContain(json.id);
    }
  });
});

describe("what belongs to the owner", () => {
  test.each([
    ["GET", "/v2/serverless/ID"],
    ["PATCH", "/v2/serverless/ID"],
    ["DELETE", "/v2/serverless/ID"],
    ["GET", "/v2/serverless/ID/workers"],
    ["GET", "/v2/serverless/ID/logs"],
    ["GET", "/v2/serverless/a-model"],
    ["GET", "/v2/serverless/a-model/workers"],
    ["GET", "/v2/serverless/a-model/logs"],
    ["POST", "/v2/ID/run"],
    ["POST", "/v2/a-model/../ID/run"],
    ["POST", "/v2/a-model%2f..%2fID/run"],
    ["POST", "/v2/a-model/%2e%2e/ID/run"],
    ["PATCH", "/v2/public-endpoints/a-model"],
    ["DELETE", "/v2/public-endpoints/a-model"],
    ["GET", "/v2/public-endpoints/a-model/use"],
  ])("is not reached by %s %s", async (method, path) => {
    await using world = await setup();
    const body = method === "GET" ? undefined : { everyone: true, input: {} };
    const { status, text } = await world.by(
      world.attacker.key,
      method,
      path.replaceAll("ID", world.endpoint),
      method === "DELETE" ? undefined : body,
    );
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    for (const secret of [SECRET, world.victim.account]) expect(text).not.toContain(secret);
  });

  test("the worker link takes no caller's key, and no caller's word for another account", async () => {
    await using world = await setup();
    const { by, attacker, worker, victim, jobs } = world;
    // Refused workers are answered late, so that they do not ask in a loop.
    const late = async (asked: Promise<Answer>) => {
      await idle();
      await world.clock.advance(60_000);
      return (await asked).status;
    };
    for (const name of ["a-model", world.endpoint])
      for (const path of [`job-take/${worker.id}`, `ping/${worker.id}`])
        expect([401, 404]).toContain(await late(by(attacker.key, "GET", `/v2/${name}/${path}?gpu=none`)));
    const done = `job-done/${worker.id}/${jobs.running}?gpu=none`;
    for (const name of ["a-model", world.endpoint])
      expect([401, 404]).toContain(await late(by(attacker.key, "POST", `/v2/${name}/${done}`, { output: "forged" })));
    expect((await by(victim.key, "GET", `/v2/a-model/status/${jobs.running}`)).text).not.toContain("forged");
    const spoofed = {
      "x-millrace-account": victim.account,
      "x-account-id": victim.account,
      "x-forwarded-user": "victim",
    };
    const body = { input: {}, caller: victim.account, account: victim.account, fare: { perRequest: 0 } };
    const { json } = await by(attacker.key, "POST", "/v2/a-model/run", body, spoofed);
    const callers = await world.queue.callers(world.endpoint);
    expect(callers).toContainEqual({ caller: attacker.account, inQueue: 1, inProgress: 0 });
    expect((await by(victim.key, "GET", `/v2/a-model/status/${json.id}`)).status).toBe(404);
  });

  test("a webhook tells of no worker, and shows the attacker's own job only", async () => {
    await using world = await setup();
    const { by, attacker, worker } = world;
    const inward = { input: {}, webhook: "http://127.0.0.1:1/x" };
    const { json } = await by(attacker.key, "POST", "/v2/a-model/run", inward);
    if (json.id === undefined) return;
    const { json: record } = await by(attacker.key, "GET", `/v2/a-model/status/${json.id}`);
    expect(JSON.stringify(record)).not.toContain(worker.id);
  });
});

describe("names", () => {
  test.each([
    ["of the length of a book", "a".repeat(5000)],
    ["in the form of an id", "abcdefghijklmn"],
    ["with a path", "a/../b"],
    ["with a dot", "a.b"],
    ["with a line break", "abc\n"],
    ["in other letters", "mоdel"],
    ["reserved", "serverless"],
    ["of the API's own documents", "openapi.json"],
  ])("%s are refused", async (_, name) => {
    await using world = await setup();
    const made = await world.by(world.attacker.key, "POST", "/v2/serverless", {
      ...{ name: "own", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
    });
    const body = { name, endpointId: made.json.id };
    expect((await world.by(world.attacker.key, "POST", PATH, body)).status).toBe(422);
  });

  test("an attacker cannot take a name that is in use, nor share the endpoint of another", async () => {
    await using world = await setup();
    const body = { name: "b-model", endpointId: world.endpoint };
    expect((await world.by(world.attacker.key, "POST", PATH, body)).status).toBe(404);
    const own = await world.by(world.attacker.key, "POST", "/v2/serverless", {
      ...{ name: "own", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
    });
    const taken = await world.by(world.attacker.key, "POST", PATH, { name: "a-model", endpointId: own.json.id });
    expect(taken.status).toBe(400);
  });
});

test("a result that is sent again charges nobody twice", async () => {
  await using world = await setup();
  const { by, attacker, worker } = world;
  const { json } = await by(attacker.key, "POST", "/v2/a-model/run", { input: {} });
  await worker.done(world.jobs.running, { output: 1 });
  for (let taken = await worker.take(); taken?.id !== json.id; taken = await worker.take())
    await worker.done(taken!.id, { output: 1 });
  for (let i = 0; i < 3; i++) await worker.done(json.id, { output: 1 });
  await by(attacker.key, "POST", `/v2/a-model/cancel/${json.id}`);
  await by(attacker.key, "POST", `/v2/a-model/retry/${json.id}`);
  const charges = await world.queue.charges({ caller: attacker.account, from: 0, to: Number.MAX_SAFE_INTEGER });
  expect(charges).toMatchObject([{ requests: 1, amount: 1_000_000_000 }]);
});
