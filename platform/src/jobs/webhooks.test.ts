/** Webhooks report every end with at most three tries, are signed if there is a secret, and survive a crash. */
import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { idle } from "../../tests/idle.ts";
import { BodyMemory } from "../kernel/body-memory.ts";
import { FakeClock } from "../kernel/clock.ts";
import { silentLog } from "../kernel/log.ts";
import { MIB } from "../kernel/operation.ts";
import { SeededRandom } from "../kernel/random.ts";
import { MemoryQueue } from "../ports/queue/memory-queue.ts";
import { MemorySignals } from "../ports/signals/memory-signals.ts";
import { Engine } from "./engine.ts";
import { readReport } from "./report.ts";
import { type Post, type WebhookParts, Webhooks } from "./webhooks.ts";
import { WorkerDesk } from "./worker-desk.ts";

const HOOK = "https://example.org/hook?token=abc";

/** Makes an engine whose webhooks go to a list. Each answer comes from `answers`, or is 200 if that is empty. */
type Options = Pick<WebhookParts, "secret" | "mine" | "giveUpHours"> & { silent?: RegExp };

function setup({ secret, mine, giveUpHours, silent }: Options = {}) {
  const clock = new FakeClock();
  const queue = new MemoryQueue(clock);
  const parts = { queue, signals: new MemorySignals(), clock, random: new SeededRandom(1), log: silentLog };
  const failed = (error: unknown) => {
    throw error;
  };
  const engine = new Engine({ ...parts, failed });
  const desk = new WorkerDesk({ ...parts, failed, waiters: engine.waiters });
  const memory = new BodyMemory({ bytes: 100 * MIB, clock });
  const sent: { url: string; body: string; headers: Record<string, string> }[] = [];
  const watches: { count: number; resolve: () => void }[] = [];
  const answers: (number | Error | (() => Promise<number>))[] = [];
  /** Ends the pending requests of targets that never answer. */
  const refusals: (() => void)[] = [];
  const silence: Post = () =>
    new Promise((_, reject) => refusals.push(() => reject(new Error("The operation was aborted due to timeout"))));
  const start = () =>
    new Webhooks({
      ...parts,
      failed,
      memory,
      secret,
      mine,
      giveUpHours,
      accountOf: async (endpoint) => endpoint.split("-")[0],
      record: ({ job }) => [Buffer.from(JSON.stringify({ id: job.id, status: job.state }))],
      async post(url, body, headers) {
        sent.push({ url, body: Buffer.concat(body).toString(), headers });
        for (const { count, resolve } of watches) if (sent.length >= count) resolve();
        if (silent?.test(url)) return silence(url, body, headers);
        const answer = answers.shift() ?? 200;
        if (answer instanceof Error) throw answer;
        return { status: typeof answer === "number" ? answer : await answer() };
      },
    });
  const webhooks = start();
  const terms = { errorRetries: 0, lowPriority: false, hasCredential: false };
  return {
    clock,
    engine,
    memory,
    sent,
    refusals,
    answers,
    start,
    webhooks,
    /** Resolves once this many messages were sent. */
    sentInAll: (count: number) => new Promise<void>((resolve) => watches.push({ count, resolve })),
    submit: (endpoint = "ep", hook = HOOK, { body = '{"input":{"a":1}}', caller = "" } = {}) =>
      engine.submit({
        endpoint: { id: endpoint, executionTimeoutMs: 60_000 },
        terms: { ...terms, webhooks: [hook] },
        body,
        mode: "run",
        ...(caller !== "" && { by: { account: caller } }),
      }),
    async finish(body: string, endpoint = "ep") {
      const call = { endpoint, worker: "w1" };
      const [claimed] = await desk.take(call, { limit: 1, waitMs: 0, gone: new AbortController().signal });
      await desk.report(call, [{ id: claimed!.job.id, report: readReport(body) }]);
    },
  };
}

test("a completed and a failed job are both told of, with the input", async () => {
  const world = setup();
  const { id } = await world.submit();
  await world.finish('{"output":1}');
  await world.clock.advance(1000);
  expect(world.sent).toMatchObject([{ url: HOOK, body: JSON.stringify({ id, status: "COMPLETED", input: { a: 1 } }) }]);
  await world.submit();
  await world.finish('{"error":"no"}');
  await world.clock.advance(1000);
  expect(JSON.parse(world.sent[1]!.body)).toMatchObject({ status: "FAILED" });
});

test("the input is told of as it came, the last one where it is given twice", async () => {
  const world = setup();
  const { id } = await world.submit("ep", HOOK, { body: '{"input":{}, "é":"€", "input": {"n":1.00, "x":1e400} }' });
  await world.finish('{"output":1}');
  await world.clock.advance(1000);
  expect(world.sent[0]!.body).toBe(`{"id":"${id}","status":"COMPLETED","input":{"n":1.00, "x":1e400}}`);
});

test("a message is sent when it is written, without waiting for the next look", async () => {
  const world = setup();
  const told = world.sentInAll(1);
  const { id } = await world.submit();
  await world.finish('{"output":1}');
  await told;
  expect(JSON.parse(world.sent[0]!.body)).toMatchObject({ id, status: "COMPLETED" });
});

test("a target that retries the job while it is told of its failure is told of the next end too", async () => {
  const world = setup();
  const { id } = await world.submit();
  world.answers.push(async () => {
    await world.engine.retry("ep", id);
    await world.finish('{"output":1}');
    return 200;
  });
  await world.finish('{"error":"no"}');
  await world.clock.advance(60_000);
  expect(world.sent.map(({ body }) => JSON.parse(body).status)).toEqual(["FAILED", "COMPLETED"]);
});

test("of more messages than are sent at once, each follows as soon as there is room", async () => {
  const world = setup();
  const told = world.sentInAll(100);
  for (let i = 0; i < 100; i++) await world.submit();
  for (let i = 0; i < 100; i++) await world.finish('{"output":1}');
  await told;
  expect(new Set(world.sent.map(({ body }) => JSON.parse(body).id)).size).toBe(100);
});

describe("beside targets that are silent", () => {
  const silent = /silent/;
  const hostsOf = (world: ReturnType<typeof setup>) => world.sent.map(({ url }) => new URL(url).host);

  async function ended(
    world: ReturnType<typeof setup>,
    count: number,
    hook: (n: number) => string,
    endpoint?: string,
    caller?: string,
  ) {
    for (let n = 0; n < count; n++) await world.submit(endpoint, hook(n), { caller });
    for (let n = 0; n < count; n++) await world.finish('{"output":1}', endpoint);
    await idle();
  }

  test("one silent target holds one sender, and the same account's other target is told at once", async () => {
    const world = setup({ silent });
    await ended(world, 200, (n) => `https://silent.example.org/${n}`);
    await ended(world, 1, () => HOOK);
    expect(hostsOf(world)).toEqual(["silent.example.org", "example.org"]);
    for (const refuse of world.refusals.splice(0)) refuse();
    await idle();
    expect(hostsOf(world)).toEqual(["silent.example.org", "example.org", "silent.example.org"]);
  });

  test("an account with a hundred endpoints and silent targets delays no other account", async () => {
    const world = setup({ silent });
    for (let n = 0; n < 100; n++) await ended(world, 1, () => `https://silent${n}.example.org`, `hostile-${n}`);
    expect(world.sent).toHaveLength(32);
    await ended(world, 1, () => HOOK, "witness-1");
    expect(hostsOf(world).at(-1)).toBe("example.org");
    await ended(world, 40, (n) => `https://silent${n}.example.org`, "second-1");
    await ended(world, 1, () => HOOK, "witness-1");
    expect(hostsOf(world).at(-1)).toBe("example.org");
  });

  test("a caller of a public endpoint with thousands of messages delays neither another caller nor the endpoint's own account", async () => {
    const world = setup({ silent });
    await ended(world, 2000, (n) => `https://silent${n % 100}.example.org/${n}`, "shared-1", "hostile");
    expect(world.sent).toHaveLength(32);
    await ended(world, 1, () => HOOK, "shared-1", "quick");
    expect(world.sent.slice(32).map(({ url }) => url)).toEqual([HOOK]);
    await ended(world, 1, () => HOOK, "shared-1");
    expect(world.sent.slice(33).map(({ url }) => url)).toEqual([HOOK]);
  });

  test("callers with the same target do not wait for each other's messages to it", async () => {
    const world = setup({ silent });
    const hook = (n: number) => `https://silent.example.org/${n}`;
    await ended(world, 200, hook, "shared-1", "hostile");
    expect(world.sent).toHaveLength(1);
    await ended(world, 1, () => "https://silent.example.org/quick", "shared-1", "quick");
    expect(world.sent.slice(1).map(({ url }) => url)).toEqual(["https://silent.example.org/quick"]);
  });

  test("an account's own endpoints and those that it calls have their turns together", async () => {
    const world = setup({ silent });
    await ended(world, 100, (n) => `https://silent${n}.example.org`, "hostile-1");
    await ended(world, 100, (n) => `https://silent${n + 100}.example.org`, "shared-1", "hostile");
    expect(world.sent).toHaveLength(32);
  });

  test("a hundred accounts with many silent targets delay nobody who sends nothing", async () => {
    const world = setup({ silent });
    for (let n = 0; n < 100; n++)
      await ended(world, 40, (target) => `https://silent${target}.example.org`, "shared-1", `hostile${n}`);
    await ended(world, 1, () => HOOK, "shared-1", "quick");
    expect(hostsOf(world).at(-1)).toBe("example.org");
  });

  test("more callers than one look searches are all found, look by look", async () => {
    const world = setup({ mine: async () => looks });
    let looks = false;
    for (let n = 0; n < 1200; n++) await world.submit("shared-1", HOOK, { caller: `c${n}` });
    for (let n = 0; n < 1200; n++) await world.finish('{"output":1}', "shared-1");
    await idle();
    looks = true;
    await world.clock.advance(1000);
    await idle();
    expect(world.sent).toHaveLength(1000);
    await world.clock.advance(1000);
    await idle();
    expect(world.sent).toHaveLength(1200);
  });

  test("a message is found at once after a thousand callers had theirs", async () => {
    const world = setup();
    for (let n = 0; n < 1000; n++) await ended(world, 1, () => HOOK, "shared-1", `c${n}`);
    await world.clock.advance(1000);
    await idle();
    world.sent.length = 0;
    await ended(world, 1, () => "https://quick.example.org", "shared-1", "quick");
    expect(hostsOf(world)).toEqual(["quick.example.org"]);
  });

  test("an account with a thousand targets that are not due delays nobody", async () => {
    const world = setup();
    for (let n = 0; n < 1000; n++) world.answers.push(500);
    await ended(world, 1000, (n) => `https://failing${n}.example.org`, "shared-1", "hostile");
    await world.clock.advance(1000);
    await idle();
    expect(world.sent).toHaveLength(1000);
    world.sent.length = 0;
    await ended(world, 1, () => HOOK, "shared-1", "quick");
    expect(hostsOf(world)).toEqual(["example.org"]);
  });

  test("a target that answers quickly is sent more and more at once, until it does not", async () => {
    const world = setup({ silent });
    await ended(world, 200, (n) => (n < 50 ? "https://example.org" : "https://silent.example.org"));
    await idle();
    expect(hostsOf(world).filter((host) => host === "example.org")).toHaveLength(50);
    expect(world.refusals).toHaveLength(1);
  });

  test("a target that has been silent for a day is given up, message by message", async () => {
    const world = setup({ silent });
    await ended(world, 5, () => "https://silent.example.org");
    await world.clock.advance(86_400_001);
    for (const refuse of world.refusals.splice(0)) refuse();
    await idle();
    await world.clock.advance(60_000);
    expect(world.sent).toHaveLength(1);
  });

  test("a setting gives it up after fewer hours", async () => {
    const world = setup({ silent, giveUpHours: 2 });
    await ended(world, 5, () => "https://silent.example.org");
    await world.clock.advance(2 * 3_600_000 + 1);
    for (const refuse of world.refusals.splice(0)) refuse();
    await idle();
    await world.clock.advance(60_000);
    expect(world.sent).toHaveLength(1);
  });
});

test("a node that does not have the duty sends nothing, and asks for it only when it looks by itself", async () => {
  let asked = 0;
  const world = setup({ mine: async () => ++asked < 0 });
  await world.submit();
  await world.finish('{"output":1}');
  await idle();
  expect(asked).toBe(0);
  await world.clock.advance(3000);
  expect([asked, world.sent]).toEqual([3, []]);
});

test("cancelled and timed-out jobs are told of too, purged ones are not", async () => {
  const world = setup();
  const cancelled = await world.submit();
  await world.engine.cancel("ep", cancelled.id);
  await world.submit();
  await world.engine.purge("ep");
  await world.clock.advance(1000);
  expect(world.sent.map(({ body }) => JSON.parse(body))).toMatchObject([{ id: cancelled.id, status: "CANCELLED" }]);
});

test("a target that fails is tried three times, ten seconds apart, and each try is on the record", async () => {
  const world = setup();
  world.answers.push(500, new Error("connect ECONNREFUSED"), 302);
  const { id } = await world.submit();
  await world.finish('{"output":1}');
  await idle();
  await world.clock.advance(9999);
  expect(world.sent).toHaveLength(1);
  await world.clock.advance(1);
  expect(world.sent).toHaveLength(2);
  await world.clock.advance(60_000);
  expect(world.sent).toHaveLength(3);
  const { job } = await world.engine.read("ep", id);
  expect(job.deliveries).toMatchObject([{ status: 500 }, { error: "connect ECONNREFUSED" }, { status: 302 }]);
  expect(JSON.stringify(job.deliveries)).not.toContain("token");
});

test("a message that was not sent before the end of the process is sent by the next one", async () => {
  const world = setup();
  await world.webhooks[Symbol.asyncDispose]();
  await world.submit();
  await world.finish('{"output":1}');
  await using _ = world.start();
  await world.clock.advance(1000);
  expect(world.sent).toHaveLength(1);
});

test("a result that expired while nobody could be told is still told of", async () => {
  const world = setup();
  await world.webhooks[Symbol.asyncDispose]();
  const { id } = await world.submit();
  await world.finish('{"output":1}');
  await world.clock.advance(31 * 60_000);
  await expect(world.engine.read("ep", id)).rejects.toThrow("job not found");
  await using _ = world.start();
  await world.clock.advance(1000);
  expect(JSON.parse(world.sent[0]!.body)).toMatchObject({ id, status: "COMPLETED" });
});

test("with a secret, the signature covers the time and the body", async () => {
  const world = setup({ secret: "s3cret" });
  await world.submit();
  await world.finish('{"output":1}');
  await world.clock.advance(1000);
  const { body, headers } = world.sent[0]!;
  const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]+)$/.exec(headers["X-Millrace-Signature"]!)!;
  expect(signature).toBe(createHmac("sha256", "s3cret").update(`${seconds}.${body}`).digest("hex"));
});

test("a long message is counted for its account while it is being sent", async () => {
  const world = setup({ silent: /example/ });
  await world.submit();
  await world.finish(JSON.stringify({ output: "x".repeat(MIB) }));
  await idle();
  expect([world.sent.length, world.memory.held > MIB]).toEqual([1, true]);
  for (const refuse of world.refusals) refuse();
  await idle();
  expect(world.memory.held).toBe(0);
});

test("a long message is counted for the account that called a public endpoint, and not for the endpoint's own", async () => {
  const world = setup({ silent: /example/ });
  await world.submit("shared-1", HOOK, { caller: "caller" });
  await world.finish(JSON.stringify({ output: "x".repeat(MIB) }), "shared-1");
  await idle();
  // An account that holds much may take little more.
  expect(() => world.memory.takeAtOnce("caller", 98 * MIB)).toThrow("of this account");
  expect(() => world.memory.takeAtOnce("shared", 98 * MIB)[Symbol.dispose]()).not.toThrow();
  for (const refuse of world.refusals) refuse();
  await idle();
});

test("a long message for which there is no room is put off, as often as it takes, and then sent", async () => {
  const world = setup();
  const full = world.memory.note("others", 100 * MIB);
  const { id } = await world.submit();
  await world.finish(JSON.stringify({ output: "x".repeat(MIB) }));
  await world.clock.advance(120_000);
  expect([world.sent.length, world.memory.waiting]).toEqual([0, 1]);
  full[Symbol.dispose]();
  await world.clock.advance(15_000);
  expect(world.sent).toHaveLength(1);
  expect((await world.engine.read("ep", id)).job.deliveries).toMatchObject([{ status: 200 }]);
});
