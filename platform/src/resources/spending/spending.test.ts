/** Spend limits: once one is reached nothing new starts, what runs continues, and the account was warned before. */
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { recordingLog, setup, type World, type WorldOptions } from "../../../tests/world.ts";
import { nanosOf } from "../../kernel/money.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { SpendNotices } from "./notices.ts";

const ACCOUNT = "/v2/account";
const POD = { name: "p", image: "busybox", cpu: { id: "cpu3c", vcpuCount: 2 } };
const ENDPOINT = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const MINUTE = 60_000;

const startPod = async (world: World, key?: string) => {
  const made = await world.call("POST", "/v2/pods", { body: POD, ...(key && { key }) });
  await idle();
  return made;
};
const podOf = async (world: World, id: string) => (await world.call("GET", `/v2/pods/${id}`)).json;
const money = async (world: World) => (await world.call("GET", ACCOUNT)).json;

/** A server that receives warnings. */
async function target() {
  const got: { headers: Record<string, unknown>; body: Record<string, unknown> }[] = [];
  const answers: number[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => {
      text += piece;
    });
    request.on("end", () => {
      got.push({ headers: request.headers, body: JSON.parse(text) });
      response.writeHead(answers.shift() ?? 200).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}/t?token=secret`, got, answers, [Symbol.dispose]: () => void server.close() };
}

const open = (options: WorldOptions = {}) =>
  setup({ compute: (clock) => new FakeCompute(clock), rateLimits: "off", ...options });

describe("by default", () => {
  test("nobody is refused for money, and nothing is read for it", async () => {
    await using world = await open();
    expect((await startPod(world)).status).toBe(201);
    await world.clock.advance(MINUTE);
    const { spentThisMonth, limits: _limits, ...rest } = await money(world);
    expect(spentThisMonth).toBeGreaterThan(0);
    expect(rest).toEqual({
      ...{ id: world.owner.account, name: "default", balance: null, spendLimit: 0, spendLimitMost: 0 },
      ...{ spendWebhook: null, refusal: null, refusalCode: null },
    });
  });
});

describe("a limit for the month", () => {
  test("is reached by what runs: that goes on, what is new is refused with the figures, and next month it goes on", async () => {
    await using world = await open({ startsAt: Date.UTC(2026, 0, 31, 23, 50) });
    const { id } = (await startPod(world)).json;
    await world.clock.advance(2 * MINUTE);
    const { spentThisMonth } = await money(world);
    // The limit leaves enough for two more minutes.
    const spendLimit = Number((spentThisMonth * 2).toFixed(9));
    expect((await world.call("PATCH", ACCOUNT, { body: { spendLimit } })).json.refusal).toBeNull();
    expect((await startPod(world)).status).toBe(201);
    await world.clock.advance(3 * MINUTE);
    const { status, json } = await world.call("POST", "/v2/pods", { body: POD });
    expect([status, json.title]).toEqual([402, "Payment Required"]);
    expect(json.detail).toMatch(
      /^Spend limit: the account has spent [\d.]+ USD of the [\d.]+ USD that it may spend in 2026-01: what runs continues, and nothing new starts before 2026-02-01T00:00:00/,
    );
    expect((await money(world)).refusal).toBe(json.detail);
    expect((await podOf(world, id)).status).toBe("RUNNING");
    await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "stop" } });
    await idle();
    for (const action of ["start", "restart"]) {
      const refused = await world.call("POST", `/v2/pods/${id}/action`, { body: { action } });
      expect(refused.status).toBe(action === "start" ? 402 : 409);
    }
    await world.clock.advance(6 * MINUTE);
    expect((await money(world)).refusal).toBeNull();
    expect((await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "start" } })).status).toBe(200);
  });

  test("holds back workers, and the jobs say why; when it is raised they go on by themselves", async () => {
    await using world = await open();
    await startPod(world);
    await world.clock.advance(5 * MINUTE);
    await world.call("PATCH", ACCOUNT, { body: { spendLimit: 0.00001 } });
    const endpoint = await world.call("POST", "/v2/serverless", { body: ENDPOINT });
    expect(endpoint.status).toBe(201);
    const path = `/v2/${endpoint.json.id}`;
    const job = (await world.call("POST", `${path}/run`, { body: { input: {} } })).json.id;
    await world.clock.advance(3000);
    const waiting = (await world.call("GET", `${path}/status/${job}`)).json;
    expect(waiting.waitReasonCode).toBe("spend-limit");
    expect(waiting.waitReason).toMatch(
      /^spend limit: the account has spent the 0\.000010 USD that it may spend in 2026-01/,
    );
    const workers = async () =>
      (await world.services.workerRecords.all()).filter(({ doc }) => doc.state !== "WANTED").length;
    expect(await workers()).toBe(0);
    await world.call("PATCH", ACCOUNT, { body: { spendLimit: 100 } });
    await world.clock.advance(3000);
    expect(await workers()).toBe(1);
  });

  test("a Pod whose program crashes is started again in place", async () => {
    const computes: FakeCompute[] = [];
    await using world = await open({
      compute: (clock) => {
        computes.push(new FakeCompute(clock));
        return computes[0]!;
      },
    });
    const { id } = (await startPod(world)).json;
    await world.clock.advance(MINUTE);
    await world.call("PATCH", ACCOUNT, { body: { spendLimit: 0.00001 } });
    const [instance] = await computes[0]!.list();
    computes[0]!.instance(instance!.id).exit({ code: 1 });
    await idle();
    expect((await podOf(world, id)).status).toBe("STARTING");
    await world.clock.advance(30_000);
    await idle();
    expect((await podOf(world, id)).status).toBe("RUNNING");
  });

  test("is no larger than whoever runs the installation allows, and is set by no key that has a limit of its own", async () => {
    await using world = await open();
    await world.services.spending.set(world.owner.account, { most: nanosOf(10) });
    expect((await world.call("PATCH", ACCOUNT, { body: { spendLimit: 11 } })).status).toBe(400);
    expect((await world.call("PATCH", ACCOUNT, { body: { spendLimit: 9 } })).json).toMatchObject({
      spendLimit: 9,
      spendLimitMost: 10,
    });
    const body = { scopes: ["all"], spendLimit: 1 };
    const limited = (await world.call("POST", "/v2/account/api-keys", { body })).json;
    expect(limited.spendLimit).toBe(1);
    const { key } = limited;
    expect((await world.call("PATCH", ACCOUNT, { key, body: { spendLimit: 10 } })).status).toBe(403);
    expect((await world.call("POST", "/v2/account/api-keys", { key, body: { scopes: ["all"] } })).status).toBe(403);
    expect((await world.call("DELETE", `/v2/account/api-keys/${limited.id}`, { key })).status).toBe(403);
  });
});

describe("a limit of a key", () => {
  test("binds what the key makes, and nothing that others make", async () => {
    await using world = await open();
    const body = { name: "ci", scopes: ["all"], spendLimit: 0.0001 };
    const { key } = (await world.call("POST", "/v2/account/api-keys", { body })).json;
    const { id } = (await startPod(world, key)).json;
    await world.clock.advance(5 * MINUTE);
    const refused = await startPod(world, key);
    expect([refused.status, refused.json.detail]).toEqual([402, expect.stringContaining("the API key 'ci' has spent")]);
    expect((await podOf(world, id)).status).toBe("RUNNING");
    expect((await startPod(world)).status).toBe(201);
    // The limit also holds if another key starts again what this key made.
    await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "stop" } });
    expect((await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "start" } })).status).toBe(402);
  });
});

describe("a balance", () => {
  test("goes down by what is used, refuses at nothing, and credit lets it go on at once", async () => {
    await using world = await open();
    const { spending } = world.services;
    const { account } = world.owner;
    await startPod(world);
    await world.clock.advance(MINUTE);
    // Costs from before the first credit are not deducted from it.
    expect(await spending.credit(account, nanosOf(0.005))).toBe(nanosOf(0.005));
    expect((await startPod(world)).status).toBe(201);
    await world.clock.advance(MINUTE);
    const { balance } = await money(world);
    expect(balance).toBeGreaterThan(0);
    expect(balance).toBeLessThan(0.005);
    await world.clock.advance(5 * MINUTE);
    const refused = await startPod(world);
    expect([refused.status, refused.json.detail]).toEqual([
      402,
      expect.stringMatching(/^The balance of this account is -/),
    ]);
    expect((await world.call("GET", "/v2/pods")).json.pods.map(({ status }: { status: string }) => status)).toEqual([
      "RUNNING",
      "RUNNING",
    ]);
    await spending.credit(account, nanosOf(1));
    expect((await startPod(world)).status).toBe(201);
    await spending.set(account, { prepaid: null });
    expect((await money(world)).balance).toBeNull();
  });

  test("is the same after months that are over were taken off it", async () => {
    await using world = await open({ startsAt: Date.UTC(2026, 0, 31, 23, 55) });
    const { spending } = world.services;
    await spending.credit(world.owner.account, nanosOf(5));
    await startPod(world);
    await world.clock.advance(10 * MINUTE);
    const before = (await money(world)).balance;
    // One day after the month began.
    await spending.settle(Date.UTC(2026, 1, 2, 1));
    expect((await money(world)).balance).toBeCloseTo(before, 9);
    const kept = (await world.store.get("account", world.owner.account))!.doc.spending as { prepaid: { at: number } };
    expect(kept.prepaid.at).toBe(Date.UTC(2026, 1, 1));
  });
});

describe("what a refusal says to programs", () => {
  /** The code that a new Pod is refused with, and the one that the account shows. */
  async function codes(world: World, key?: string) {
    const refused = await startPod(world, key);
    return [refused.status, refused.headers.get("x-reason-code"), (await money(world)).refusalCode];
  }

  test.each([
    ["the account's own limit", { limit: 0.00001, most: 100 }, "spend-limit"],
    ["the operator's limit", { most: 0.00001, limit: 100 }, "operator-spend-limit"],
    ["the operator's limit, as high as the account's own", { most: 0.00001, limit: 0.00001 }, "operator-spend-limit"],
  ])("%s", async (_, { limit, most }, code) => {
    await using world = await open();
    await startPod(world);
    await world.clock.advance(MINUTE);
    await world.services.spending.set(world.owner.account, { limit: nanosOf(limit), most: nanosOf(most) });
    expect(await codes(world)).toEqual([402, code, code]);
  });

  test("a credit that is used up", async () => {
    await using world = await open();
    await world.services.spending.credit(world.owner.account, 0);
    expect(await codes(world)).toEqual([402, "no-credit", "no-credit"]);
  });

  test("the limit of a key, which does not refuse anything to the account", async () => {
    await using world = await open();
    const body = { scopes: ["all"], spendLimit: 0.0001 };
    const { key } = (await world.call("POST", "/v2/account/api-keys", { body })).json;
    await startPod(world, key);
    await world.clock.advance(5 * MINUTE);
    expect(await codes(world, key)).toEqual([402, "key-spend-limit", null]);
  });
});

describe("warnings", () => {
  test("come once at 80% and once at 100%, before anything is refused, and again next month", async () => {
    using hooks = await target();
    await using world = await open({ startsAt: Date.UTC(2026, 0, 31, 23, 50) });
    await startPod(world);
    await world.clock.advance(MINUTE);
    const perMinute = (await money(world)).spentThisMonth;
    const body = { spendLimit: Number((perMinute * 5).toFixed(9)), spendWebhook: hooks.url };
    const set = (await world.call("PATCH", ACCOUNT, { body })).json;
    expect([set.spendWebhook, JSON.stringify(set)]).toEqual([
      new URL(hooks.url).origin,
      expect.not.stringContaining("token"),
    ]);
    await world.clock.advance(2 * MINUTE);
    expect(hooks.got).toEqual([]);
    await world.clock.advance(1.5 * MINUTE);
    await idle();
    expect(hooks.got.map(({ body }) => [body.event, body.threshold, body.month])).toEqual([
      ["spend.warning", 80, "2026-01"],
    ]);
    expect((await world.call("POST", "/v2/pods", { body: POD })).status).toBe(201);
    await world.clock.advance(3 * MINUTE);
    await idle();
    expect(hooks.got.map(({ body }) => body.event)).toEqual(["spend.warning", "spend.reached"]);
    const [, { body: reached } = { body: {} }] = hooks.got;
    expect(reached).toMatchObject({ account: world.owner.account, limit: body.spendLimit, threshold: 100 });
    // By now a new month has begun, and two Pods run.
    await world.clock.advance(9 * MINUTE);
    await idle();
    expect(hooks.got.map(({ body }) => `${body.event} ${body.month}`)).toEqual([
      "spend.warning 2026-01",
      "spend.reached 2026-01",
      "spend.warning 2026-02",
      "spend.reached 2026-02",
    ]);
  });

  test("are tried again, and not written anew by a server that comes after a crash", async () => {
    using hooks = await target();
    hooks.answers.push(500);
    await using world = await open();
    await startPod(world);
    await world.clock.advance(MINUTE);
    await world.call("PATCH", ACCOUNT, { body: { spendLimit: 0.00001, spendWebhook: hooks.url } });
    await world.clock.advance(3000);
    await idle();
    expect(hooks.got.map(({ body }) => body.threshold)).toHaveLength(2);
    await world.abandon();
    const { store, clock, random, queue, logs } = world;
    await using next = await setup({ store, found: { clock, random, queue, logs } });
    await clock.advance(2 * MINUTE);
    await idle();
    const ids = hooks.got.map(({ body }) => body.id);
    // The warning that was not accepted is sent once more.
    expect([ids.length, new Set(ids).size]).toEqual([3, 2]);
    expect(await next.store.list({ kind: "spend-notice", limit: 10 })).toHaveLength(2);
  });

  test("are sent by one of many nodes, each once", async () => {
    await using world = await open();
    await startPod(world);
    await world.clock.advance(MINUTE);
    const { spending } = world.services;
    const sent: string[] = [];
    const node = () =>
      new SpendNotices({
        ...{ store: world.store, clock: world.clock, log: recordingLog().log, spending },
        failed: (error) => expect.unreachable(String(error)),
        post: async (_url, [body]) => {
          sent.push(JSON.parse(Buffer.from(body!).toString()).event);
          return { status: 200 };
        },
      });
    await spending.set(world.owner.account, { most: 1, webhook: "https://hooks.test/" });
    await using first = node();
    await using second = node();
    await Promise.all([first, second, first, second].map((one) => one.look(world.clock.now())));
    await first.look(world.clock.now());
    await idle();
    expect(sent.toSorted()).toEqual(["spend.reached", "spend.warning"]);
  });

  test("about a credit come once, however long the credit stays used up", async () => {
    await using world = await open();
    await startPod(world);
    const { spending } = world.services;
    await spending.credit(world.owner.account, nanosOf(0.0001));
    await world.clock.advance(5 * MINUTE);
    await spending.set(world.owner.account, { webhook: "https://hooks.test/" });
    const sent: string[] = [];
    await using notices = new SpendNotices({
      ...{ store: world.store, clock: world.clock, log: recordingLog().log, spending },
      failed: (error) => expect.unreachable(String(error)),
      post: async (_url, [body]) => {
        sent.push(JSON.parse(Buffer.from(body!).toString()).event);
        return { status: 200 };
      },
    });
    for (const days of [0, 71, 72]) {
      await notices.look(world.clock.now() + days * 24 * 60 * MINUTE);
      await idle();
    }
    expect(sent).toEqual(["spend.warning", "spend.reached"]);
  });

  test("of one account are not delayed by a target of another that never answers", async () => {
    await using world = await open();
    const key = await world.strangersKey();
    const other = (await world.call("GET", ACCOUNT, { key })).json.id as string;
    const sent: string[] = [];
    const silent = Promise.withResolvers<{ status: number }>();
    await using notices = new SpendNotices({
      ...{ store: world.store, clock: world.clock, log: recordingLog().log, spending: world.services.spending },
      failed: (error) => expect.unreachable(String(error)),
      post: async (url) => {
        sent.push(url);
        return url.includes("silent") ? silent.promise : { status: 200 };
      },
    });
    await startPod(world);
    await startPod(world, key);
    await world.clock.advance(MINUTE);
    const limit = (account: string, webhook: string) => world.services.spending.set(account, { most: 1, webhook });
    await limit(world.owner.account, "https://silent.test/");
    await notices.look(world.clock.now());
    await limit(other, "https://quick.test/");
    await notices.look(world.clock.now());
    await idle();
    expect(sent).toEqual(["https://silent.test/", "https://quick.test/", "https://quick.test/"]);
    silent.resolve({ status: 200 });
  });

  test("are said once more when a limit that was raised is reached", async () => {
    using hooks = await target();
    await using world = await open();
    await startPod(world);
    await world.clock.advance(MINUTE);
    const set = (spendLimit: number) => world.call("PATCH", ACCOUNT, { body: { spendLimit, spendWebhook: hooks.url } });
    for (const limit of [0.00001, 0.00002, 0.00001, 0.00002]) {
      await set(limit);
      await world.clock.advance(3000);
      await idle();
    }
    expect(hooks.got.map(({ body }) => body.limit)).toEqual([0.00001, 0.00001, 0.00002, 0.00002]);
  });

  test("a target that is no web address is refused", async () => {
    await using world = await open();
    for (const spendWebhook of ["ftp://x.test/", "nowhere", `https://x.test/${"y".repeat(2000)}`])
      expect((await world.call("PATCH", ACCOUNT, { body: { spendWebhook } })).status).toBe(422);
    expect((await world.call("PATCH", ACCOUNT, { body: { spendWebhook: null } })).status).toBe(200);
  });
});
