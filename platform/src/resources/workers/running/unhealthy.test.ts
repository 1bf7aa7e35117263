/** Load-balanced workers that were healthy and no longer are: they do not count, show the reason, and are replaced. */
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import type { Answer } from "../../../../tests/world.ts";

const WAIT_FOR_ANY_MS = 120_000;
/** Enough for three failures in a row, and a moment for the last of them. */
const UNTIL_AILING_S = 16;

interface Shown {
  id: string;
  status: string;
  reason: string | null;
}

interface Balanced extends FleetWorld {
  /** Sets what the health path of a worker answers from now on; 0 means no answer at all. */
  answerHealth(status: number, worker: string): void;
  ask(path?: string): Promise<Answer>;
  /** Resolves once a request has reached a worker and waits there for good. */
  stuck: Promise<unknown>;
  shown(): Promise<Shown[]>;
}

/** `answers` are the first answers of a worker's health path; the last one repeats. */
async function setup(endpoint: object = {}, answers = [200]): Promise<Balanced> {
  const health = new Map<string, number>();
  const stuck = Promise.withResolvers<void>();
  const world = await setupFleet({
    endpoint: { type: "LOAD_BALANCER", scaling: { type: "REQUEST_COUNT", requestCount: 1 }, ...endpoint },
    machine: {
      behaviour(instance) {
        const first = [...answers];
        const server = createServer(({ url }, response) => {
          if (url === "/stuck") return stuck.resolve();
          if (url !== "/ping") return void response.end(instance.id);
          const status = health.get(instance.id) ?? (first.length > 1 ? first.shift()! : first[0]!);
          if (status > 0) response.writeHead(status).end();
        });
        instance.listen(80, (connection) => server.emit("connection", connection));
      },
    },
  });
  return {
    ...world,
    answerHealth: (status, worker) => void health.set(worker, status),
    ask: (path = "/") => world.call("GET", `/v2/${world.endpoint}${path}`),
    stuck: stuck.promise,
    shown: async () => (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json.workers,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

describe("a worker whose health path fails", () => {
  test.each([
    [500, "unhealthy: GET /ping on port 80: it answered 500"],
    [0, "unhealthy: GET /ping on port 80: no answer in 3 s"],
  ])("by %s is UNHEALTHY with the reason and not ready, and well again after the next 200", async (status, reason) => {
    await using world = await setup({ workers: { min: 1, max: 1 } });
    const { text: worker } = await world.ask();
    world.answerHealth(status, worker);
    await world.pass(25);
    expect(await world.shown()).toMatchObject([{ id: worker, status: "UNHEALTHY", reason }]);
    world.answerHealth(200, worker);
    await world.pass(3);
    expect(await world.shown()).toMatchObject([{ id: worker, status: "IDLE", reason: null }]);
  });

  test("is no capacity: where another is allowed it is started, and takes the request that waits", async () => {
    await using world = await setup({ workers: { max: 2, idleTimeout: 600 } });
    const { text: worker } = await world.ask();
    world.answerHealth(500, worker);
    await world.pass(UNTIL_AILING_S);
    const { status, text } = await world.after(2, world.ask());
    expect([status, world.started.indexOf(text)]).toEqual([200, 1]);
  });

  test("is ended after half a minute where it is the only one allowed, and another takes what waits", async () => {
    await using world = await setup({ workers: { max: 1, idleTimeout: 600 } });
    const { text: worker } = await world.ask();
    world.answerHealth(500, worker);
    await world.pass(UNTIL_AILING_S);
    const asked = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.pass(33);
    const { status, text } = await asked;
    expect([status, world.started.indexOf(text), world.started.length]).toEqual([200, 1, 2]);
    expect(await world.log(worker)).toContain("[failed: unhealthy for 30 s: GET /ping on port 80: it answered 500]");
  });

  test("is left its requests: it may be too busy to answer, and is judged when it has none", async () => {
    await using world = await setup({ workers: { max: 1, idleTimeout: 600 } });
    const { text: worker } = await world.ask();
    void world.ask("/stuck").catch(() => undefined);
    await world.stuck;
    world.answerHealth(0, worker);
    await world.pass(90);
    expect([world.running().map(({ id }) => id), (await world.shown())[0]]).toMatchObject([
      [worker],
      { status: "UNHEALTHY" },
    ]);
    world.running()[0]!.instance.exit({ code: 0 });
    await world.settle();
  });

  test("by 204 says itself that it gets ready: INITIALIZING, no capacity, and not ended", async () => {
    await using world = await setup({ workers: { min: 1, max: 1 } });
    const { text: worker } = await world.ask();
    world.answerHealth(204, worker);
    await world.pass(60);
    expect([world.started.length, await world.shown()]).toMatchObject([1, [{ id: worker, status: "INITIALIZING" }]]);
  });

  test("is what a request that finds no worker is told", async () => {
    await using world = await setup({ workers: { max: 1, idleTimeout: 600 } });
    const { text: worker } = await world.ask();
    world.answerHealth(204, worker);
    await world.pass(10);
    const asked = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.pass(121);
    expect((await asked).json.message).toContain("1 worker getting ready: GET /ping on port 80: it is initializing");
  });
});

test("a program that is well for a moment only is started ever more slowly", async () => {
  await using world = await setup({ workers: { min: 1, max: 1 } }, [200, 500]);
  await world.pass(720);
  // Without a brake each worker would be replaced after three quarters of a minute.
  expect(world.started.length).toBeLessThan(12);
  expect((await world.records()).filter(({ state }) => state === "FAILED").length).toBeGreaterThan(3);
});

test("a server that comes back knows an unhealthy worker for what it is, and replaces it", async () => {
  const before = await setup({ workers: { min: 1, max: 1 } });
  const { text: worker } = await before.ask();
  before.answerHealth(500, worker);
  await before.pass(UNTIL_AILING_S);
  await using world = await before.crash();
  await world.pass(3);
  const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
  expect(workers).toMatchObject([{ id: worker, status: "UNHEALTHY" }]);
  await world.pass(32);
  expect(world.running().map(({ id }) => id)).not.toContain(worker);
});
