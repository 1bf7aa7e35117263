/** Invocation limits as callers see them: per endpoint and user, per ten seconds and at once, and for a full queue. */
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs } from "../../tests/job-world.ts";
import { limitedAs } from "./invoke-limits.ts";
import { parseInvokeLimits } from "./invoke-policy.ts";

const body = { input: {} };
const run = (world: JobWorld, options = {}) => world.invoke("POST", "/run", { body, ...options });
const purge = (world: JobWorld, options = {}) => world.invoke("POST", "/purge-queue", options);
const statuses = async (answers: Promise<{ status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status);

async function otherEndpoint(world: JobWorld): Promise<string> {
  const given = { name: "other", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  return (await world.call("POST", "/v2/serverless", { body: given })).json.id;
}

test("without the setting there are none", async () => {
  await using world = await setupJobs();
  expect(await statuses([purge(world), purge(world), purge(world)])).toEqual([200, 200, 200]);
});

describe("in ten seconds", () => {
  test("the next request is refused, with the limit, its window and when to try again", async () => {
    await using world = await setupJobs({ invokeLimits: "on" });
    await purge(world);
    await world.clock.advance(3500);
    await purge(world);
    const { status, json, headers } = await purge(world);
    const message =
      "rate limit exceeded: purge-queue may be asked 2 times in 10 seconds on this endpoint; try again in 7 s";
    expect([status, json]).toEqual([429, { error: message, message }]);
    expect(headers.get("retry-after")).toBe("7");
    expect(headers.get("content-type")).toBe("application/json");
    await world.clock.advance(6499);
    expect((await purge(world)).status).toBe(429);
    await world.clock.advance(1);
    expect((await purge(world)).status).toBe(200);
  });

  test("of many at once, exactly the limit is let through", async () => {
    await using world = await setupJobs({ invokeLimits: "run=10" });
    const answers = await statuses(Array.from({ length: 30 }, () => run(world)));
    expect(answers.filter((status) => status === 200)).toHaveLength(10);
    expect(answers.filter((status) => status === 429)).toHaveLength(20);
  });

  test("status, status-sync, stream and output count together, and apart from all others", async () => {
    await using world = await setupJobs({ invokeLimits: "status=2,run=2" });
    const job = await world.submit();
    await world.invoke("POST", `/cancel/${job}`);
    expect((await world.invoke("GET", `/status/${job}`)).status).toBe(200);
    expect((await world.invoke("GET", `/status-sync/${job}`)).status).toBe(200);
    const { status, json } = await world.invoke("GET", `/stream/${job}`);
    expect([status, json.error]).toEqual([429, expect.stringContaining("status, status-sync, stream and output")]);
    expect((await run(world)).status).toBe(200);
  });

  test("it is counted for an endpoint and a user, whichever of their keys", async () => {
    await using world = await setupJobs({ invokeLimits: "run=1" });
    await run(world);
    expect((await run(world, { key: await world.newKey() })).status).toBe(429);
    expect((await world.call("POST", `/v2/${await otherEndpoint(world)}/run`, { body })).status).toBe(200);
  });

  test("a refusal of another kind, and of a stranger, is none of an endpoint's requests", async () => {
    await using world = await setupJobs({ invokeLimits: "run=1" });
    expect((await run(world, { key: await world.strangersKey() })).status).toBe(404);
    expect((await run(world, { key: await world.newKey({ scopes: ["read-only"] }) })).status).toBe(403);
    expect((await run(world)).status).toBe(200);
  });

  test("an exempt key is neither counted nor refused", async () => {
    await using world = await setupJobs({ invokeLimits: "run=1" });
    const key = await world.newKey({ exempt: true });
    expect(await statuses([run(world, { key }), run(world, { key }), run(world)])).toEqual([200, 200, 200]);
  });

  test("more than twenty running workers raise it, each by a twentieth", async () => {
    await using world = await setupJobs({ invokeLimits: "run=20" });
    for (let i = 0; i < 21; i++) await world.queue.renew(`${world.endpoint}/w${i}`, world.endpoint, 60_000);
    const answers = await statuses(Array.from({ length: 22 }, () => run(world)));
    expect(answers.filter((status) => status === 200)).toHaveLength(21);
  });
});

describe("at once", () => {
  const EARLY_MS = 100;

  test("a request beyond the limit is refused, until one of those before it is answered", async () => {
    await using world = await setupJobs({ invokeLimits: "runsync=100/2" });
    const worker = await world.worker();
    const held = [1, 2].map(() => world.invoke("POST", "/runsync", { body }));
    await world.clock.armed(EARLY_MS, 2);
    const { status, json, headers } = await world.invoke("POST", "/runsync", { body });
    const message = "too many requests at once: runsync may be asked 2 times at once on this endpoint";
    expect([status, json]).toEqual([429, { error: message, message }]);
    expect(headers.get("retry-after")).toBe("1");
    await worker.done((await worker.take())!.id, { output: 1 });
    await Promise.race(held);
    const next = world.invoke("POST", "/runsync", { body });
    for (const _ of [1, 2]) await worker.done((await worker.take())!.id, { output: 1 });
    expect(await statuses([...held, next])).toEqual([200, 200, 200]);
  });

  test("a client that hangs up makes room", async () => {
    await using world = await setupJobs({ invokeLimits: "runsync=100/1" });
    const client = new AbortController();
    const left = world.invoke("POST", "/runsync", { body, signal: client.signal }).catch(() => "left");
    await world.clock.armed(EARLY_MS);
    client.abort();
    expect(await left).toBe("left");
    await world.clock.disarmed(EARLY_MS);
    const worker = await world.worker();
    const next = world.invoke("POST", "/runsync", { body });
    for (const _ of [1, 2]) await worker.done((await worker.take())!.id, { output: 1 });
    expect((await next).status).toBe(200);
  });
});

describe("a full queue", () => {
  async function full(): Promise<JobWorld> {
    const world = await setupJobs({ invokeLimits: "on" });
    await world.call("PATCH", `/v2/serverless/${world.endpoint}`, { body: { workers: { min: 0, max: 0 } } });
    for (let i = 0; i < 51; i++) await world.submit();
    await world.clock.advance(1000);
    return world;
  }

  test("takes no more jobs, and says how many wait and why that is too many", async () => {
    await using world = await full();
    const message =
      "queue is full: 51 jobs wait, and this endpoint takes no more beyond 50 (the more of 50 and 500 for each of its at most 0 workers)";
    const { status, json, headers } = await run(world);
    expect([status, json, headers.get("retry-after")]).toEqual([429, { error: message, message }, "5"]);
    expect((await world.invoke("POST", "/runsync", { body })).status).toBe(429);
    expect((await world.invoke("POST", "/openai/v1/chat", { body: {} })).status).toBe(429);
  });

  test("still answers everything else, and takes jobs again within a second of there being room", async () => {
    await using world = await full();
    expect((await world.invoke("GET", "/health")).status).toBe(200);
    expect((await purge(world)).json.removed).toBe(51);
    await world.clock.advance(1000);
    expect((await run(world)).status).toBe(200);
  });

  test("is 500 jobs for each worker that the endpoint may have", async () => {
    await using world = await full();
    await world.call("PATCH", `/v2/serverless/${world.endpoint}`, { body: { workers: { min: 0, max: 1 } } });
    expect((await run(world)).status).toBe(200);
  });
});

test("the queue is asked once a second, however many ask the endpoint", async () => {
  await using world = await setupJobs({ invokeLimits: "on" });
  let asked = 0;
  const counts = world.queue.counts.bind(world.queue);
  world.queue.counts = (endpoint) => {
    asked++;
    return counts(endpoint);
  };
  await statuses(Array.from({ length: 20 }, () => run(world)));
  expect(asked).toBe(1);
  await world.clock.advance(1000);
  await statuses(Array.from({ length: 20 }, () => run(world)));
  expect(asked).toBe(2);
});

describe("MILLRACE_INVOKE_LIMITS", () => {
  test("is off, on with the documented numbers, or what differs from them", () => {
    expect(parseInvokeLimits("off")).toBeUndefined();
    expect(parseInvokeLimits("on")).toEqual({
      runsync: { rate: 2000, atOnce: 400 },
      run: { rate: 1000, atOnce: 200 },
      status: { rate: 2000, atOnce: 400 },
      cancel: { rate: 100, atOnce: 20 },
      "purge-queue": { rate: 2 },
      openai: { rate: 2000, atOnce: 400 },
      requests: { rate: 10, atOnce: 2 },
      health: { rate: 2000, atOnce: 400 },
      retry: { rate: 100, atOnce: 20 },
      batch: { rate: 100, atOnce: 20 },
    });
    expect(parseInvokeLimits("run=5/2, purge-queue=9")).toMatchObject({
      run: { rate: 5, atOnce: 2 },
      "purge-queue": { rate: 9 },
      cancel: { rate: 100, atOnce: 20 },
    });
  });

  test.each([[""], ["run"], ["run=0"], ["run=1/0"], ["run=-1"], ["walk=1"], ["toString=1"], ["on,run=1"]])(
    "is not %j",
    (text) => {
      expect(() => parseInvokeLimits(text)).toThrow(/^must be 'on', 'off' or a list/);
    },
  );

  test("a path that nobody has thought of is refused when it is mounted", () => {
    expect(limitedAs("/v2/{endpoint_id}/status-sync/{job_id}")).toBe("status");
    expect(limitedAs("/v2/{endpoint_id}/openai/{path*}")).toBe("openai");
    expect(() => limitedAs("/v2/{endpoint_id}/walk/{job_id}")).toThrow("has no limit");
  });
});
