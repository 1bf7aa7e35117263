/** Requests and complaints of users of comparable systems, one by one, and what this server does instead. */
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { HOLD_STOP_MS, HOLD_TAKE_MS, setupJobs, type TestWorker } from "../../tests/job-world.ts";

const MIB = 1024 * 1024;
const PING_MS = 10_000;
/** A worker that is silent for longer than this counts as lost. */
const SILENCE_MS = 31_000;

async function running(rest: object = {}, options: Parameters<typeof setupJobs>[0] = {}) {
  const world = await setupJobs(options);
  const worker = await world.worker();
  const id = await world.begun(worker, {}, rest);
  return { world, worker, id, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** Posts any job-done body. */
const post = async (worker: TestWorker, job: string, body: string, query = "") =>
  (await worker.ask("POST job-done", { job, body, query })).status;

describe("ask 1: a job that waits says why", () => {
  test("nobody is there, everybody is busy, or whoever is free does not ask", async () => {
    await using world = await setupJobs();
    const first = await world.submit();
    expect((await world.status(first)).waitReason).toBe("no worker is connected (1 job in the queue)");
    const worker = await world.worker();
    await worker.take();
    const second = await world.submit();
    expect((await world.status(second)).waitReason).toBe("the only worker is busy (1 job in the queue)");
    await worker.done(first, { output: 1 });
    expect((await world.status(second)).waitReason).toMatch(/^waiting for the idle worker to ask for it/);
  });

  test("a job that costs one worker after another is told from one that has none", async () => {
    await using at = await running();
    await at.world.clock.advance(SILENCE_MS);
    expect((await at.world.status(at.id)).waitReason).toBe(
      `no worker is connected (1 job in the queue); last attempt: worker ${at.worker.id} was lost while processing the job`,
    );
  });
});

test("ask 2: progress that arrives after the result gets 200 and does not open the job again", async () => {
  await using at = await running();
  await at.worker.done(at.id, { output: "done" });
  expect(await at.worker.done(at.id, { status: "IN_PROGRESS", output: 99 })).toBe(200);
  expect(await at.world.status(at.id)).toMatchObject({ status: "COMPLETED", output: "done" });
});

describe("ask 3: the server spreads jobs by what it has handed out, not by what workers say of themselves", () => {
  test("workers that could take everything get their share", async () => {
    await using world = await setupJobs();
    const workers = [await world.worker(), await world.worker()];
    const asked = workers.map((worker) => worker.ask("GET job-take-batch", { query: "&batch_size=10" }));
    await world.clock.armed(HOLD_TAKE_MS, 2);
    await Promise.all([world.submit(), world.submit()]);
    for (const answer of asked) expect((await answer).json).toHaveLength(1);
  });

  test("lists from releases that mixed up the jobs of several workers take no job away", async () => {
    await using at = await running();
    for (const _ of [1, 2, 3]) {
      await at.worker.ask("GET ping", { query: "&job_id=&runpod_version=1.10.0" });
      await at.world.clock.advance(PING_MS);
    }
    expect(await at.world.status(at.id)).toMatchObject({ status: "IN_PROGRESS", workerId: at.worker.id });
  });
});

describe("ask 5: being alive, listening and having a job are three things", () => {
  test("a job that its worker never saw is missed in two pings and goes to another one", async () => {
    await using at = await running();
    await at.worker.ping([]);
    await at.world.clock.advance(PING_MS);
    await at.worker.ping([]);
    const other = await at.world.worker();
    expect((await other.take())!.id).toBe(at.id);
  });

  test("a worker whose line for stops breaks keeps its job", async () => {
    await using at = await running();
    const line = connect(Number(new URL(at.world.url).port), "127.0.0.1");
    const path = `/v2/${at.world.endpoint}/job-stop/${at.worker.id}`;
    line.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${at.worker.key}\r\n\r\n`);
    await at.world.clock.armed(HOLD_STOP_MS);
    line.destroy();
    await at.world.clock.disarmed(HOLD_STOP_MS);
    for (let pings = 0; pings < 6; pings++) {
      await at.worker.ping([at.id]);
      await at.world.clock.advance(PING_MS);
    }
    expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
  });
});

test("ask 6: a worker that is alive and does not ask is given nothing", async () => {
  await using world = await setupJobs();
  const [deaf, listening] = [await world.worker(), await world.worker()];
  const id = await world.submit();
  for (let pings = 0; pings < 6; pings++) {
    await deaf.ping();
    await world.clock.advance(PING_MS);
  }
  expect((await world.status(id)).status).toBe("IN_QUEUE");
  expect((await listening.take())!.id).toBe(id);
});

describe("ask 7: a result is never refused; one that cannot be taken fails the job, and what came is kept", () => {
  test("one that is not JSON, in full", async () => {
    await using at = await running();
    const raw = `{"output":[${"0.5,".repeat(200_000)}NaN]}`;
    expect(await post(at.worker, at.id, raw)).toBe(200);
    const { status, error, errorCode, output, rawOutput } = await at.world.status(at.id);
    expect([status, errorCode, output]).toEqual(["FAILED", "result-unreadable", undefined]);
    expect(error).toMatch(/^the worker's result is not valid JSON; it begins: \{"output":\[0\.5,/);
    expect(rawOutput === raw).toBe(true);
  });

  test("one that is too long, as far as its beginning", async () => {
    await using at = await running({}, { payloadLimits: "10,20,20,0" });
    const raw = JSON.stringify({ output: "x".repeat(20 * MIB) });
    expect(await post(at.worker, at.id, raw)).toBe(200);
    const { status, error, errorCode, rawOutput } = await at.world.status(at.id);
    expect([status, error, errorCode]).toEqual(["FAILED", "the output exceeds 20 MB", "result-too-long"]);
    expect(rawOutput === raw.slice(0, 64 * 1024)).toBe(true);
  });

  test("a chunk that is too long, so that no stream has a hole in it", async () => {
    await using at = await running();
    expect(await at.worker.chunk(at.id, "x".repeat(20 * MIB))).toBe(200);
    expect(await at.world.status(at.id)).toMatchObject({ status: "FAILED", error: "the output exceeds 20 MB" });
  });
});

describe("ask 8: the documented limits hold unless the operator sets others", () => {
  const sized = (bytes: number, key: string) => `{"${key}":{"a":"${"x".repeat(bytes - key.length - 13)}"}}`;

  test("of what is sent in", async () => {
    await using world = await setupJobs({ payloadLimits: "1,2,20" });
    const sent = async (path: string, bytes: number) => {
      const { status, json } = await world.invoke("POST", path, { body: sized(bytes, "input") });
      return [status, json.error];
    };
    expect(await sent("/run", MIB)).toEqual([200, undefined]);
    expect(await sent("/run", MIB + 1)).toEqual([413, expect.stringContaining("the limit of 1 MB")]);
    expect(await sent("/runsync", 2 * MIB + 1)).toEqual([413, expect.stringContaining("the limit of 2 MB")]);
  });

  test("of what comes out, which may then be longer than 20 MB", async () => {
    await using at = await running({}, { payloadLimits: "10,20,30,0" });
    await post(at.worker, at.id, sized(30 * MIB, "output"));
    expect((await at.world.status(at.id)).output.a).toHaveLength(30 * MIB - 19);
    const second = await at.world.begun(at.worker);
    await post(at.worker, second, sized(30 * MIB + 1, "output"));
    expect(await at.world.status(second)).toMatchObject({ status: "FAILED", error: "the output exceeds 30 MB" });
  });

  test("a result over the limit does not vanish: it is behind a URL", async () => {
    await using at = await running();
    const output = "x".repeat(21 * MIB);
    await post(at.worker, at.id, JSON.stringify({ output }));
    const { status, output: link } = await at.world.status(at.id);
    expect([status, link.bytes]).toEqual(["COMPLETED", 21 * MIB + 2]);
    const answer = await fetch(link.url.replace("https://millrace.test", at.world.url));
    expect((await answer.text()) === JSON.stringify(output)).toBe(true);
  });
});

describe("ask 10: an error means FAILED, however it is given", () => {
  test.each([
    ["as text", "no", "no"],
    ["as an object", { message: "no", code: 5 }, '{"message":"no","code":5}'],
  ])("%s", async (_how, error, shown) => {
    await using at = await running();
    await at.worker.done(at.id, { error, output: { half: true } });
    expect(await at.world.status(at.id)).toMatchObject({ status: "FAILED", error: shown, output: { half: true } });
  });
});

describe("ask 11: only the worker that has a job can end it", () => {
  test("a late failure of a stalled worker gets 200, changes nothing and is counted", async () => {
    await using at = await running();
    await at.world.clock.advance(SILENCE_MS);
    const other = await at.world.worker();
    await other.take();
    expect(await post(at.worker, at.id, '{"error":"stalled"}')).toBe(200);
    expect(await at.world.status(at.id)).toMatchObject({ status: "IN_PROGRESS", workerId: other.id });
    await other.done(at.id, { output: 1 });
    await post(at.worker, at.id, '{"error":"stalled"}');
    expect(await at.world.status(at.id)).toMatchObject({ status: "COMPLETED", output: 1 });
    expect((await at.world.invoke("GET", "/metrics")).json.staleReports).toBe(2);
  });

  test("a result of the worker's own earlier attempt is counted too", async () => {
    await using at = await running({ policy: { retries: 1 } });
    await post(at.worker, at.id, '{"error":"no"}', "&attempt=1");
    await at.worker.take();
    await post(at.worker, at.id, '{"output":"old"}', "&attempt=1");
    expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
    expect((await at.world.invoke("GET", "/metrics")).json.staleReports).toBe(1);
  });

  test("a result that its holder sends again is not, nor is progress", async () => {
    await using at = await running();
    for (const _ of [1, 2]) await at.worker.done(at.id, { output: 1 });
    await (await at.world.worker()).done(at.id, { status: "IN_PROGRESS", output: 1 });
    expect((await at.world.invoke("GET", "/metrics")).json.staleReports).toBe(0);
  });
});

describe("ask 12: lost workers and failing handlers have budgets of their own", () => {
  test("two lost workers leave the retries of the handler's errors as they were", async () => {
    await using at = await running({ policy: { retries: 1 } });
    for (let lost = 0; lost < 2; lost++) {
      await at.world.clock.advance(SILENCE_MS);
      await (await at.world.worker()).take();
    }
    const last = await at.world.worker();
    await at.world.clock.advance(SILENCE_MS);
    expect(await at.world.status(at.id)).toMatchObject({ status: "FAILED", retries: 2 });
    expect((await at.world.status(at.id)).error).toMatch(/^worker \w+ was lost .*; given up after 3 attempts$/);
    await at.world.invoke("POST", `/retry/${at.id}`);
    await last.take();
    await last.done(at.id, { error: "flaky" });
    expect((await at.world.status(at.id)).status).toBe("IN_QUEUE");
    await last.take();
    await last.done(at.id, { error: "broken" });
    expect(await at.world.status(at.id)).toMatchObject({ status: "FAILED", error: "broken" });
  });

  test("retried errors cost none of the three attempts", async () => {
    await using at = await running({ policy: { retries: 3 } });
    for (let run = 0; run < 3; run++) {
      await at.worker.done(at.id, { error: "flaky" });
      await at.worker.take();
    }
    await at.world.clock.advance(SILENCE_MS);
    expect((await at.world.status(at.id)).status).toBe("IN_QUEUE");
  });
});

describe("ask 13: a running job can be ended from outside", () => {
  test("cancelled: at once for the client, at once for a worker that listens, and its late result does not count", async () => {
    await using at = await running();
    const stops = at.worker.ask("GET job-stop");
    await at.world.clock.armed(HOLD_STOP_MS);
    expect((await at.world.invoke("POST", `/cancel/${at.id}`)).json.status).toBe("CANCELLED");
    expect((await stops).json).toEqual({ jobsToStop: [at.id] });
    expect(await post(at.worker, at.id, '{"output":"late"}')).toBe(200);
    expect(await at.world.status(at.id)).toMatchObject({ status: "CANCELLED" });
  });

  test("out of time: within a second of its execution timeout, and the worker is told as well", async () => {
    await using at = await running({ policy: { executionTimeout: 5000 } });
    const stops = at.worker.ask("GET job-stop");
    await at.world.clock.armed(HOLD_STOP_MS);
    await at.world.clock.advance(6000);
    expect((await stops).json).toEqual({ jobsToStop: [at.id] });
    const { status, error } = await at.world.status(at.id);
    expect([status, error]).toEqual([
      "TIMED_OUT",
      "job timed out: it ran longer than its execution timeout of 5000 ms",
    ]);
  });

  test("a worker that goes on is told again with each ping that still lists the job", async () => {
    await using at = await running();
    await at.world.invoke("POST", `/cancel/${at.id}`);
    for (let pings = 0; pings < 3; pings++) {
      await at.worker.ping([at.id]);
      expect((await at.worker.ask("GET job-stop")).json).toEqual({ jobsToStop: [at.id] });
    }
  });
});
