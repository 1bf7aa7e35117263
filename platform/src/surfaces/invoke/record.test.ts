/** The record of a job in each of its states, why a waiting job waits, and what /health counts. */
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

async function timed() {
  const world = await setupJobs();
  const worker = await world.worker();
  const id = await world.submit({ a: 1 });
  await world.clock.advance(1500);
  await worker.take();
  await world.clock.advance(2500);
  return { world, worker, id, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** The times that a finished job shows: 1.5 s in the queue, 2.5 s at work. */
const ran = (worker: TestWorker) => ({ delayTime: 1500, executionTime: 2500, workerId: worker.id });

describe("the fields of each state", () => {
  test("IN_QUEUE: id, status and why it waits", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    expect(await world.status(id)).toEqual({
      id,
      status: "IN_QUEUE",
      waitReason: "no worker is connected (1 job in the queue)",
      waitReasonCode: "no-worker",
    });
  });

  test("IN_PROGRESS: the delay and the worker; no output until there is progress", async () => {
    await using at = await timed();
    const shown = { id: at.id, status: "IN_PROGRESS", delayTime: 1500, workerId: at.worker.id };
    expect(await at.world.status(at.id)).toEqual(shown);
  });

  test("COMPLETED: the output, both times, the worker", async () => {
    await using at = await timed();
    await at.worker.done(at.id, { output: { b: [2] } });
    expect(await at.world.status(at.id)).toEqual({
      id: at.id,
      status: "COMPLETED",
      output: { b: [2] },
      ...ran(at.worker),
    });
  });

  test("FAILED: the error as text, and the output that came with it", async () => {
    await using at = await timed();
    await at.worker.done(at.id, { output: { half: true }, error: "out of memory" });
    expect(await at.world.status(at.id)).toEqual({
      id: at.id,
      status: "FAILED",
      output: { half: true },
      error: "out of memory",
      ...ran(at.worker),
    });
  });

  test("CANCELLED while it ran: times and worker, neither output nor error", async () => {
    await using at = await timed();
    await at.worker.done(at.id, { status: "IN_PROGRESS", output: "half way" });
    await at.world.invoke("POST", `/cancel/${at.id}`);
    expect(await at.world.status(at.id)).toEqual({ id: at.id, status: "CANCELLED", ...ran(at.worker) });
  });

  test("CANCELLED before it ran: id and status alone", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    await world.invoke("POST", `/cancel/${id}`);
    expect(await world.status(id)).toEqual({ id, status: "CANCELLED" });
  });

  test("TIMED_OUT: the reason as error; times only if it ran", async () => {
    await using world = await setupJobs();
    const policy = { ttl: 10_000 };
    const waiting = await world.submit({}, { policy });
    const running = await world.submit({}, { policy });
    await world.invoke("POST", `/cancel/${waiting}`);
    const worker = await world.worker();
    await worker.take();
    const late = await world.submit({}, { policy });
    await world.clock.advance(11_000);
    const why = { error: "job timed out: its time to live of 10000 ms passed", errorCode: "job-expired" };
    expect(await world.status(late)).toEqual({ id: late, status: "TIMED_OUT", ...why });
    const times = { delayTime: 0, executionTime: expect.any(Number), workerId: worker.id };
    expect(await world.status(running)).toEqual({ id: running, status: "TIMED_OUT", ...why, ...times });
  });

  test("retries: how often it ran before, once it did", async () => {
    await using at = await timed();
    await at.worker.done(at.id, { error: "x" });
    await at.world.invoke("POST", `/retry/${at.id}`);
    await at.world.clock.advance(500);
    await (await at.world.worker()).take();
    expect(await at.world.status(at.id)).toMatchObject({ status: "IN_PROGRESS", retries: 1, delayTime: 500 });
  });
});

describe("progress", () => {
  test.each([["a text"], [{ step: 2, of: 5 }], [[1, 2]], [0], [null]])(
    "%j is shown as the output of a running job, the newest in place of the one before",
    async (output) => {
      await using at = await timed();
      await at.worker.done(at.id, { status: "IN_PROGRESS", output: "older" });
      expect(await at.worker.done(at.id, { status: "IN_PROGRESS", output })).toBe(200);
      expect((await at.world.status(at.id)).output).toEqual(output);
    },
  );

  test("is gone once the job has ended, also when it ended without output", async () => {
    await using at = await timed();
    await at.worker.done(at.id, { status: "IN_PROGRESS", output: 50 });
    await at.worker.done(at.id, {});
    expect(await at.world.status(at.id)).toEqual({ id: at.id, status: "COMPLETED", ...ran(at.worker) });
  });

  test("does not end a wait", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const answer = world.invoke("POST", "/runsync", { body: { input: {} } });
    const { id } = (await worker.take())!;
    await worker.done(id, { status: "IN_PROGRESS", output: 50 });
    await worker.done(id, { output: 100 });
    expect((await answer).json).toMatchObject({ status: "COMPLETED", output: 100 });
  });
});

test.each([
  ["id", '"forged"'],
  ["status", '"COMPLETED"'],
  ["workerId", '"forged"'],
  ["delayTime", "9"],
])("a worker's result that names '%s' does not win over ours", async (name, value) => {
  await using at = await timed();
  const before = await at.world.status(at.id);
  await at.worker.ask("POST job-done", { job: at.id, body: `{"output":1,"${name}":${value},"error":"x"}` });
  const after = await at.world.status(at.id);
  expect([after.id, after.status, after.workerId, after.delayTime]).toEqual([
    at.id,
    "FAILED",
    at.worker.id,
    before.delayTime,
  ]);
});

describe("why a job waits", () => {
  const reason = async (world: JobWorld, id: string) => (await world.status(id)).waitReason;

  test("no worker, idle workers, busy workers, and how many jobs there are", async () => {
    await using world = await setupJobs();
    const first = await world.submit();
    expect(await reason(world, first)).toBe("no worker is connected (1 job in the queue)");
    const workers = [await world.worker(), await world.worker()];
    for (const worker of workers) await worker.ping();
    expect(await reason(world, first)).toBe("waiting for one of 2 idle workers to ask for it (1 job in the queue)");
    await workers[0]!.take();
    const second = await world.submit();
    await world.submit();
    expect(await reason(world, second)).toBe("waiting for the idle worker to ask for it (2 jobs in the queue)");
    await workers[1]!.take();
    const third = await world.submit();
    expect(await reason(world, third)).toBe("all 2 workers busy (2 jobs in the queue)");
  });

  test("a worker that has not heard of the cancel of its job is busy, not idle", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const job = await world.submit();
    await worker.take();
    const waiting = await world.submit();
    await world.call("POST", `/v2/${world.endpoint}/cancel/${job}`);
    expect(await reason(world, waiting)).toBe("the only worker is busy (1 job in the queue)");
  });

  test("a worker that was lost is no longer counted, and the job it had says what happened", async () => {
    await using at = await timed();
    await at.world.clock.advance(31_000);
    expect(await at.world.status(at.id)).toMatchObject({
      status: "IN_QUEUE",
      retries: 1,
      waitReason:
        `no worker is connected (1 job in the queue); ` +
        `last attempt: worker ${at.worker.id} was lost while processing the job`,
    });
  });

  test("a handler's error that is retried is told", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker, {}, { policy: { retries: 1 } });
    await worker.done(id, { error: "flaky" });
    expect(await reason(world, id)).toContain("; last attempt: the handler failed: flaky");
  });
});

describe("order", () => {
  test("oldest first, low priority after all others, retried ones in front", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const failed = await world.begun(worker);
    await worker.done(failed, { error: "x" });
    const low = await world.submit({}, { policy: { lowPriority: true } });
    const first = await world.submit();
    const second = await world.submit();
    await world.invoke("POST", `/retry/${failed}`);
    const order: string[] = [];
    for (let i = 0; i < 4; i++) order.push((await worker.take())!.id);
    expect(order).toEqual([failed, first, second, low]);
  });
});

describe("/health", () => {
  test("counts jobs by what they do and what became of them, and workers by what they are at", async () => {
    await using world = await setupJobs();
    const zero = { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 };
    const none = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };
    expect((await world.invoke("GET", "/health")).json).toEqual({ jobs: zero, workers: none });
    const [busy, idle] = [await world.worker(), await world.worker()];
    await busy.done(await world.begun(busy), { output: 1 });
    const failed = await world.begun(busy);
    await busy.done(failed, { error: "x" });
    await world.invoke("POST", `/retry/${failed}`);
    await busy.take();
    await world.submit();
    await world.invoke("POST", `/cancel/${await world.submit()}`);
    await idle.ping();
    expect((await world.invoke("GET", "/health")).json).toEqual({
      jobs: { completed: 1, failed: 1, inProgress: 1, inQueue: 1, retried: 1 },
      workers: { ...none, idle: 1, ready: 1, running: 1 },
    });
  });

  test("counts a job that timed out as failed", async () => {
    await using world = await setupJobs();
    await world.submit({}, { policy: { ttl: 10_000 } });
    await world.clock.advance(11_000);
    expect((await world.invoke("GET", "/health")).json.jobs).toMatchObject({ failed: 1, inQueue: 0 });
  });

  test("what was counted stays counted when results expire", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    await worker.done(await world.begun(worker), { output: 1 });
    await world.clock.advance(31 * 60_000);
    expect((await world.invoke("GET", "/health")).json.jobs).toMatchObject({ completed: 1 });
  });
});
