/** States and transitions of a job over HTTP, row by row as the specification lists them. */
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const MINUTE_MS = 60_000;

/** Brings a job into each state. */
const reach: Record<string, (world: JobWorld, worker: TestWorker) => Promise<string>> = {
  IN_QUEUE: (world) => world.submit({ a: 1 }),
  IN_PROGRESS: (world, worker) => world.begun(worker, { a: 1 }),
  async COMPLETED(world, worker) {
    const id = await world.begun(worker, { a: 1 });
    await worker.done(id, { output: { b: 2 } });
    return id;
  },
  async FAILED(world, worker) {
    const id = await world.begun(worker, { a: 1 });
    await worker.done(id, { output: "half", error: "broken" });
    return id;
  },
  async CANCELLED(world) {
    const id = await world.submit({ a: 1 });
    await world.invoke("POST", `/cancel/${id}`);
    return id;
  },
  async TIMED_OUT(world) {
    const id = await world.submit({ a: 1 }, { policy: { ttl: 10_000 } });
    await world.clock.advance(11_000);
    return id;
  },
};

async function jobIn(state: string) {
  const world = await setupJobs();
  const worker = await world.worker();
  const id = await reach[state]!(world, worker);
  expect((await world.status(id)).status).toBe(state);
  return { world, worker, id, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

test("(none) -> POST /run, accepted -> IN_QUEUE: the job id is returned at once", async () => {
  await using world = await setupJobs();
  const { status, json } = await world.invoke("POST", "/run", { body: { input: { a: 1 } } });
  expect([status, json]).toEqual([200, { id: expect.stringMatching(/^[0-9a-f-]{36}-u1$/), status: "IN_QUEUE" }]);
  expect((await world.status(json.id)).status).toBe("IN_QUEUE");
});

test("(none) -> POST /runsync, done within the wait -> COMPLETED: the result is in the same response", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const answer = world.invoke("POST", "/runsync", { body: { input: { a: 1 } } });
  const job = await worker.take();
  await worker.done(job!.id, { output: { b: 2 } });
  const { status, json } = await answer;
  expect([status, json]).toEqual([
    200,
    {
      id: expect.stringMatching(/^sync-[0-9a-f-]{36}-u1$/),
      status: "COMPLETED",
      output: { b: 2 },
      delayTime: 0,
      executionTime: 0,
      workerId: worker.id,
    },
  ]);
});

test("IN_QUEUE -> POST /cancel -> CANCELLED: the job is removed before it starts", async () => {
  await using at = await jobIn("IN_QUEUE");
  const { status, json } = await at.world.invoke("POST", `/cancel/${at.id}`);
  expect([status, json]).toEqual([200, { id: at.id, status: "CANCELLED" }]);
  const next = await at.world.submit();
  expect((await at.worker.take())!.id).toBe(next);
  expect(await at.world.status(at.id)).toEqual({ id: at.id, status: "CANCELLED" });
});

test("IN_PROGRESS -> POST /cancel -> CANCELLED: the running job is stopped, and its late result changes nothing", async () => {
  await using at = await jobIn("IN_PROGRESS");
  const stop = at.worker.ask("GET job-stop");
  const { status, json } = await at.world.invoke("POST", `/cancel/${at.id}`);
  expect([status, json]).toEqual([200, { id: at.id, status: "CANCELLED" }]);
  expect((await stop).json).toEqual({ jobsToStop: [at.id] });
  expect(await at.worker.done(at.id, { output: "late" })).toBe(200);
  const after = await at.world.status(at.id);
  expect([after.status, after.output]).toEqual(["CANCELLED", undefined]);
});

test.each([["FAILED"], ["TIMED_OUT"]])(
  "%s -> POST /retry, not yet expired -> IN_QUEUE: same id, original input, previous output removed",
  async (state) => {
    await using at = await jobIn(state);
    const { status, json } = await at.world.invoke("POST", `/retry/${at.id}`);
    expect([status, json]).toEqual([200, { id: at.id, status: "IN_QUEUE" }]);
    const waiting = await at.world.status(at.id);
    const waits = { waitReason: expect.any(String), waitReasonCode: expect.any(String) };
    expect(waiting).toEqual({ id: at.id, status: "IN_QUEUE", retries: 1, ...waits });
    const worker = await at.world.worker();
    expect(await worker.take()).toMatchObject({ id: at.id, input: { a: 1 } });
    await worker.done(at.id, { output: "second" });
    expect(await at.world.status(at.id)).toMatchObject({ status: "COMPLETED", output: "second", retries: 1 });
  },
);

test("IN_QUEUE -> POST /purge-queue -> removed: jobs in progress are unaffected", async () => {
  await using at = await jobIn("IN_PROGRESS");
  const waiting = [await at.world.submit(), await at.world.submit()];
  const { status, json } = await at.world.invoke("POST", "/purge-queue");
  expect([status, json]).toEqual([200, { removed: 2, status: "completed" }]);
  for (const id of waiting) {
    const gone = await at.world.invoke("GET", `/status/${id}`);
    expect([gone.status, gone.json.error]).toEqual([404, "job not found: it was removed by purge-queue"]);
  }
  await at.worker.done(at.id, { output: 1 });
  expect((await at.world.status(at.id)).status).toBe("COMPLETED");
  expect((await at.world.invoke("POST", "/purge-queue")).json).toEqual({ removed: 0, status: "completed" });
});

test("a purged job is handed to no worker", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  await world.submit({ purged: true });
  await world.invoke("POST", "/purge-queue");
  const after = await world.submit({ purged: false });
  expect(await worker.take()).toMatchObject({ id: after, input: { purged: false } });
});

describe("any -> retention period ends -> not retrievable, and an expired job cannot be retried:", () => {
  test.each([["COMPLETED"], ["FAILED"], ["CANCELLED"], ["TIMED_OUT"]])("%s", async (state) => {
    await using at = await jobIn(state);
    await at.world.clock.advance(30 * MINUTE_MS - 2000);
    expect((await at.world.status(at.id)).status).toBe(state);
    await at.world.clock.advance(2000);
    const requests = [
      ["GET", `/status/${at.id}`],
      ["POST", `/retry/${at.id}`],
      ["POST", `/cancel/${at.id}`],
      ["GET", `/status-sync/${at.id}`],
    ] as const;
    for (const [method, path] of requests) {
      const { status, json } = await at.world.invoke(method, path);
      expect([path, status, json.error]).toEqual([path, 404, expect.stringContaining("it has expired")]);
    }
  });
});

describe("what the specification does not list is refused or changes nothing:", () => {
  test.each([["IN_QUEUE"], ["IN_PROGRESS"], ["COMPLETED"], ["CANCELLED"]])(
    "%s -> POST /retry -> 400",
    async (state) => {
      await using at = await jobIn(state);
      const { status, json } = await at.world.invoke("POST", `/retry/${at.id}`);
      expect([status, json.error]).toEqual([
        400,
        `job is not in a retryable state: it is ${state}, and only FAILED or TIMED_OUT jobs can be retried`,
      ]);
      expect((await at.world.status(at.id)).status).toBe(state);
    },
  );

  test.each([["COMPLETED"], ["FAILED"], ["CANCELLED"], ["TIMED_OUT"]])(
    "%s -> POST /cancel -> the same, told as it is",
    async (state) => {
      await using at = await jobIn(state);
      const before = await at.world.status(at.id);
      const { status, json } = await at.world.invoke("POST", `/cancel/${at.id}`);
      expect([status, json]).toEqual([200, { id: at.id, status: state }]);
      expect(await at.world.status(at.id)).toEqual(before);
    },
  );

  test.each([["COMPLETED"], ["FAILED"], ["CANCELLED"], ["TIMED_OUT"]])(
    "%s -> late result, late progress, late failure -> 200, and nothing changes",
    async (state) => {
      await using at = await jobIn(state);
      const before = await at.world.status(at.id);
      const late = [{ output: "late" }, { status: "IN_PROGRESS", output: "late" }, { error: "late" }, {}];
      for (const body of late) expect(await at.worker.done(at.id, body)).toBe(200);
      expect(await at.world.status(at.id)).toEqual(before);
    },
  );

  test("of a cancellation and a result at once, one counts, and both callers are told the same", async () => {
    await using at = await jobIn("IN_PROGRESS");
    const [cancelled] = await Promise.all([
      at.world.invoke("POST", `/cancel/${at.id}`),
      at.worker.done(at.id, { output: 1 }),
    ]);
    expect((await at.world.status(at.id)).status).toBe(cancelled.json.status);
  });

  test("of two retries at once, one counts", async () => {
    await using at = await jobIn("FAILED");
    const both = await Promise.all([1, 2].map(() => at.world.invoke("POST", `/retry/${at.id}`)));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  });
});

describe("transitions that the service makes by itself:", () => {
  test("IN_QUEUE -> a worker takes it -> IN_PROGRESS", async () => {
    await using at = await jobIn("IN_PROGRESS");
    expect(await at.world.status(at.id)).toEqual({
      id: at.id,
      status: "IN_PROGRESS",
      delayTime: 0,
      workerId: at.worker.id,
    });
  });

  test("IN_PROGRESS -> its execution timeout passes -> TIMED_OUT, with the reason, and the worker is told to stop", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker, {}, { policy: { executionTimeout: 5000 } });
    const stop = worker.ask("GET job-stop");
    await world.clock.advance(4000);
    await worker.ping([id]);
    expect((await world.status(id)).status).toBe("IN_PROGRESS");
    await world.clock.advance(2000);
    expect((await stop).json).toEqual({ jobsToStop: [id] });
    expect(await world.status(id)).toMatchObject({
      status: "TIMED_OUT",
      error: "job timed out: it ran longer than its execution timeout of 5000 ms",
      errorCode: "job-overran",
    });
  });

  test.each([["IN_QUEUE"], ["IN_PROGRESS"]])("%s -> its ttl passes -> TIMED_OUT, with the reason", async (state) => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const policy = { ttl: 10_000 };
    const id = state === "IN_QUEUE" ? await world.submit({}, { policy }) : await world.begun(worker, {}, { policy });
    await world.clock.advance(9000);
    expect((await world.status(id)).status).toBe(state);
    await world.clock.advance(2000);
    expect(await world.status(id)).toMatchObject({
      status: "TIMED_OUT",
      error: "job timed out: its time to live of 10000 ms passed",
    });
    if (state === "IN_QUEUE") {
      const next = await world.submit();
      expect((await worker.take())!.id).toBe(next);
    }
  });

  test("a retried job has its whole ttl before it again, and nothing of why it ended", async () => {
    await using at = await jobIn("TIMED_OUT");
    await at.world.invoke("POST", `/retry/${at.id}`);
    expect(await at.world.status(at.id)).not.toHaveProperty("errorCode");
    await at.world.clock.advance(9000);
    expect((await at.world.status(at.id)).status).toBe("IN_QUEUE");
    await at.world.clock.advance(2000);
    expect((await at.world.status(at.id)).status).toBe("TIMED_OUT");
  });
});
