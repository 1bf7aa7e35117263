/** Load-balanced workers start for requests and end without them, on a simulated machine. */
import { createServer, type RequestListener } from "node:http";
import { describe, expect, test } from "vitest";
import { type FleetOptions, type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import type { Answer, CallOptions } from "../../../../tests/world.ts";

const WAIT_FOR_ANY_MS = 120_000;

interface Held {
  worker: string;
  answer(text?: string): void;
}

interface BalancedFleet extends FleetWorld {
  /** Requests that have reached workers and wait for `answer`. */
  held: Held[];
  /** Sets the status that health checks get from now on. */
  answerHealth(status: number): void;
  ask(path?: string, options?: CallOptions): Promise<Answer>;
  /** Resolves once this many requests have reached workers. */
  reached(count: number): Promise<void>;
  statuses(): Promise<string[]>;
}

async function setup(endpoint: object = {}, options: Omit<FleetOptions, "endpoint"> = {}): Promise<BalancedFleet> {
  const held: Held[] = [];
  let health = 200;
  let noticed = () => {};
  const app =
    (worker: string): RequestListener =>
    ({ url }, response) => {
      if (url === "/ping") return void response.writeHead(health).end();
      if (url === "/quick") return void response.end(worker);
      held.push({ worker, answer: (text = worker) => void response.end(text) });
      noticed();
    };
  const world = await setupFleet({
    ...options,
    endpoint: { type: "LOAD_BALANCER", scaling: { type: "REQUEST_COUNT", requestCount: 1 }, ...endpoint },
    machine: {
      behaviour(instance) {
        const server = createServer(app(instance.id));
        instance.listen(80, (connection) => server.emit("connection", connection));
      },
    },
  });
  const ask: BalancedFleet["ask"] = (path = "/quick", options = {}) =>
    world.call("GET", `/v2/${world.endpoint}${path}`, options);
  return {
    ...world,
    held,
    answerHealth(status) {
      health = status;
    },
    ask,
    async reached(count) {
      while (held.length < count) await new Promise<void>((resolve) => (noticed = resolve));
    },
    async statuses() {
      const { json } = await world.call("GET", `/v2/serverless/${world.endpoint}/workers`);
      return json.workers.map(({ status }: { status: string }) => status);
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

describe("from zero workers", () => {
  test("the first request starts one, and is answered by it", async () => {
    await using world = await setup();
    expect(world.started).toEqual([]);
    const { status, text } = await world.ask();
    expect([status, text, world.started]).toEqual([200, world.started[0], [text]]);
    expect((await world.record(text))?.state).toBe("READY");
    expect(await world.statuses()).toEqual(["IDLE"]);
  });

  test("it waits until the worker's health path answers 200, and not only until its program runs", async () => {
    await using world = await setup();
    world.answerHealth(204);
    const first = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.pass(10);
    expect(await world.statuses()).toEqual(["INITIALIZING"]);
    world.answerHealth(200);
    await world.pass(2);
    expect((await first).status).toBe(200);
  });

  test("many at once start one, as long as it is meant to take them", async () => {
    await using world = await setup({ scaling: { type: "REQUEST_COUNT", requestCount: 4 } });
    const answers = await Promise.all([world.ask(), world.ask(), world.ask(), world.ask()]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    await world.pass(2);
    expect(world.started).toHaveLength(1);
  });

  test("the worker is told where to listen when the endpoint does not say", async () => {
    await using world = await setup();
    await world.ask();
    const [worker] = world.running();
    expect(worker!.env).toMatchObject({ PORT: "80", PORT_HEALTH: "80" });
    expect(worker!.instance.spec.ports).toEqual([80]);
  });
});

describe("more and fewer", () => {
  test("workers come with requests in flight, and never more than max", async () => {
    await using world = await setup({ workers: { max: 2 } });
    const asked = [world.ask("/slow"), world.ask("/slow"), world.ask("/slow")];
    await world.reached(3);
    await world.pass(2);
    expect(world.started).toHaveLength(2);
    expect(await world.statuses()).toContain("RUNNING");
    for (const { answer } of world.held) answer();
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(200);
  });

  test("an idle one ends after the endpoint's idle time, and a busy one does not", async () => {
    await using world = await setup({ workers: { max: 1, idleTimeout: 20 } });
    const slow = world.ask("/slow");
    await world.reached(1);
    await world.pass(60);
    expect(world.running()).toHaveLength(1);
    world.held[0]!.answer();
    await slow;
    await world.pass(18);
    expect(world.running()).toHaveLength(1);
    await world.pass(5);
    expect(world.running()).toHaveLength(0);
    expect((await world.ask()).status).toBe(200);
  });

  test("min is kept running, though it never asks for work", async () => {
    await using world = await setup({ workers: { min: 1, max: 2 } });
    await world.pass(180);
    expect(world.started).toHaveLength(1);
    expect(await world.statuses()).toEqual(["IDLE"]);
  });
});

describe("with FlashBoot", () => {
  const frozen = { flashboot: "FLASHBOOT", workers: { max: 1, idleTimeout: 20 } };

  test("an idle one is frozen, out of rotation and not asked for its health, and answers the next request", async () => {
    await using world = await setup(frozen);
    const { text: worker } = await world.ask();
    await world.pass(25);
    expect(world.compute.instance(worker).view().state).toBe("frozen");
    await world.pass(600);
    expect(world.compute.instance(worker).view().state).toBe("frozen");
    const { status, text } = await world.ask();
    expect([status, text, world.started]).toEqual([200, worker, [worker]]);
    expect((await world.log(worker)).at(-1)).toMatch(/^\[thawed after \d+ s in \d+ ms\]$/);
  });

  test("one that has a request is not frozen", async () => {
    await using world = await setup(frozen);
    const slow = world.ask("/slow");
    await world.reached(1);
    await world.pass(60);
    const [worker] = world.running();
    expect(worker!.instance.view().state).toBe("running");
    world.held[0]!.answer();
    expect((await slow).status).toBe(200);
  });

  test("a request that insists on a frozen one thaws it", async () => {
    await using world = await setup(frozen);
    const { text: worker } = await world.ask();
    await world.pass(25);
    const headers = { "X-Runpod-Worker-Id": `strict-resume ${worker}` };
    expect(await world.ask("/quick", { headers })).toMatchObject({ status: 200, text: worker });
  });

  test("a thawed one that is not well again within seconds is replaced", async () => {
    await using world = await setup(frozen);
    const { text: worker } = await world.ask();
    await world.pass(25);
    world.answerHealth(500);
    const asked = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.pass(11);
    world.answerHealth(200);
    await world.pass(5);
    expect((await asked).text).not.toBe(worker);
    expect(await world.log(worker)).toContain("[failed: silent for 10 s after its thaw]");
  });

  test("after a crash of the server a frozen one is found again", async () => {
    const before = await setup(frozen);
    const { text: worker } = await before.ask();
    await before.pass(25);
    await using world = await before.crash();
    await world.pass(600);
    expect([world.compute.instance(worker).view().state, (await world.record(worker))?.state]).toEqual([
      "frozen",
      "FROZEN",
    ]);
  });
});

describe("a worker that fails", () => {
  test("in mid request: 502 says how it ended, and the next request starts another", async () => {
    await using world = await setup();
    const asked = world.ask("/slow");
    await world.reached(1);
    world.running()[0]!.instance.exit({ code: 137, reason: "out of memory" });
    const { status, json } = await asked;
    expect([status, json.error]).toEqual([502, expect.stringMatching(/^worker \w+ (ended|broke the connection): /)]);
    const next = world.ask();
    await world.pass(30);
    expect((await next).status).toBe(200);
    expect(world.started).toHaveLength(2);
  });

  test("to accept a connection: the request waits, and is answered when the worker is well again", async () => {
    await using world = await setup({ workers: { max: 1 }, scaling: { type: "REQUEST_COUNT", requestCount: 4 } });
    const slow = world.ask("/slow");
    await world.reached(1);
    world.compute.fail("dial", new Error("connect ECONNREFUSED"));
    const refused = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    world.compute.fail("dial", undefined);
    await world.pass(3);
    expect((await refused).status).toBe(200);
    world.held[0]!.answer();
    expect((await slow).status).toBe(200);
    expect(world.started).toHaveLength(1);
  });

  test("on the wrong port: requests are told after 2 minutes, and it is ended after 8", async () => {
    await using world = await setup({ env: { PORT: "8000" }, workers: { max: 1 } });
    const asked = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.pass(121);
    const { status, json } = await asked;
    expect([status, json.error, json.message]).toEqual([
      400,
      "no workers available",
      expect.stringMatching(
        /^no worker was ready within 2 minutes: worker starting \(\d+ s\); worker \w+: GET \/ping on port 8000: nobody listens/,
      ),
    ]);
    await world.pass(370);
    expect(world.running()).toHaveLength(0);
    expect(await world.log(world.started[0]!)).toContainEqual(
      expect.stringContaining("not healthy for 8 minutes: GET /ping on port 8000: nobody listens on port 8000"),
    );
  });

  test("because a secret in its environment names no port: the boot fails with the reason, and does not tell the secret", async () => {
    await using world = await setup({ env: { PORT: "{{ MILLRACE_SECRET_port }}" } });
    await world.call("POST", "/v2/account/secrets", { body: { name: "port", value: "http" } });
    const asked = world.ask();
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.pass(121);
    expect((await asked).json.message).toContain("boot failed: 'PORT' must be a port from 1 to 65535.");
    expect(world.started).toEqual([]);
  });
});

describe("changes", () => {
  test("a new release takes new requests, and the old worker ends what it has", async () => {
    await using world = await setup({ workers: { max: 2 } });
    const slow = world.ask("/slow");
    await world.reached(1);
    await world.change({ image: "host:/other" });
    const next = world.ask();
    await world.pass(3);
    const [old] = world.started;
    expect((await next).text).not.toBe(old);
    world.held[0]!.answer("done");
    expect((await slow).text).toBe("done");
    await world.pass(3);
    expect(world.running().map(({ id }) => id)).not.toContain(old);
  });

  test("a deleted endpoint ends its workers", async () => {
    await using world = await setup();
    await world.ask();
    await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
    expect(world.running()).toEqual([]);
    expect((await world.ask()).status).toBe(404);
  });

  test("a server that comes back sends requests to the workers that are there", async () => {
    await using world = await setup({ workers: { min: 1, max: 1 } });
    const { text } = await world.ask();
    const before = world.compute.instance(text);
    await using again = await world.crash();
    expect(before.exited).toBe(false);
    const answer = again.call("GET", `/v2/${again.endpoint}/quick`);
    await again.pass(3);
    expect([(await answer).text, again.started]).toEqual([text, [text]]);
  });

  test("the end of the server gives requests in flight their moment", async () => {
    const world = await setup();
    const slow = world.ask("/slow");
    await world.reached(1);
    const ended = world[Symbol.asyncDispose]();
    world.held[0]!.answer("just in time");
    expect((await slow).text).toBe("just in time");
    await ended;
    expect(world.running()).toEqual([]);
  });
});
