/** Pings of workers: who is alive, what each is busy with, and which jobs it is not working on. */
import { describe, expect, test, vi } from "vitest";
import { HOLD_TAKE_MS, setupJobs, type TestWorker } from "../../../tests/job-world.ts";
import { listsAreTrusted, OMITTED_MS } from "../../jobs/sessions.ts";

const LOST_AFTER_MS = 30_000;
const INTERVAL_MS = 10_000;

const ping = (worker: TestWorker, jobs: string[], version = "1.12.0") =>
  worker.ask("GET ping", { query: `${jobs.length > 0 ? `&job_id=${jobs.join(",")}` : ""}&runpod_version=${version}` });

async function running(count = 1) {
  const world = await setupJobs();
  const worker = await world.worker();
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(await world.begun(worker));
  return { world, worker, ids, id: ids[0]!, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

async function pingTwice({ world, worker }: Awaited<ReturnType<typeof running>>, jobs: string[]): Promise<void> {
  await ping(worker, jobs);
  await world.clock.advance(INTERVAL_MS);
  await ping(worker, jobs);
}

test("is answered 200 with a small JSON body", async () => {
  await using at = await running();
  const { status, json } = await ping(at.worker, [at.id]);
  expect([status, json]).toEqual([200, {}]);
});

describe("alive", () => {
  test("a worker that pings keeps its job for as long as it takes", async () => {
    await using at = await running();
    for (let elapsed = 0; elapsed < 120_000; elapsed += INTERVAL_MS) {
      await at.world.clock.advance(INTERVAL_MS);
      await ping(at.worker, [at.id]);
    }
    expect(await at.world.status(at.id)).toMatchObject({ status: "IN_PROGRESS", workerId: at.worker.id });
  });

  test("a worker that only asks for more work is alive too", async () => {
    await using at = await running();
    for (let i = 0; i < 3; i++) {
      const answer = at.worker.take();
      await at.world.clock.armed(HOLD_TAKE_MS);
      await at.world.clock.advance(HOLD_TAKE_MS);
      await answer;
    }
    expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
  });

  test("after 30 silent seconds its job goes to the next who asks, and counts as retried", async () => {
    await using at = await running();
    const other = await at.world.worker();
    const next = other.take();
    await at.world.clock.armed(HOLD_TAKE_MS);
    await at.world.clock.advance(LOST_AFTER_MS - 1000);
    expect((await at.world.status(at.id)).workerId).toBe(at.worker.id);
    await at.world.clock.advance(2000);
    await next;
    expect((await other.take())!.id).toBe(at.id);
    expect(await at.world.status(at.id)).toMatchObject({ workerId: other.id, retries: 1 });
    expect((await at.world.invoke("GET", "/health")).json.jobs.retried).toBe(1);
  });

  test("however many jobs a worker loses, they are written at once, and its ping waits for one write", async () => {
    await using at = await running(20);
    const apply = vi.spyOn(at.world.queue, "apply");
    await pingTwice(at, []);
    expect(apply.mock.calls.map(([changes]) => changes.length)).toEqual([20]);
    for (const id of at.ids) expect((await at.world.status(id)).status).toBe("IN_QUEUE");
  });

  test("a worker that says it is unfit loses its jobs at once, and the log says so in words of the server", async () => {
    await using at = await running();
    const query = "&status=unhealthy&check=memory&reason=3+GB+free&runpod_version=1.12.0";
    expect((await at.worker.ask("GET ping", { query })).status).toBe(200);
    await at.world.clock.advance(1000);
    expect((await at.world.status(at.id)).status).toBe("IN_QUEUE");
    expect((await at.world.invoke("GET", "/health")).json.workers).toMatchObject({ idle: 0, running: 0 });
    expect(at.world.logged.join()).toContain("not fit to work");
    expect(at.world.logged.join()).not.toContain("3 GB free");
  });

  test("three workers lost under one job: it FAILED, with the reason, and is not run a fourth time", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    let worker = await world.worker();
    for (let i = 0; i < 3; i++) {
      worker = await world.worker();
      expect((await worker.take())!.id).toBe(id);
      await world.clock.advance(LOST_AFTER_MS + 1000);
    }
    expect(await world.status(id)).toMatchObject({
      status: "FAILED",
      error: `worker ${worker.id} was lost while processing the job; given up after 3 attempts`,
      errorCode: "attempts-used-up",
      retries: 2,
    });
    expect((await world.invoke("GET", "/health")).json.jobs).toMatchObject({ failed: 1, retried: 2, inQueue: 0 });
  });

  test("/retry after that gives three attempts again", async () => {
    await using world = await setupJobs();
    const id = await world.submit();
    for (let i = 0; i < 5; i++) {
      if (i === 3) await world.invoke("POST", `/retry/${id}`);
      expect((await (await world.worker()).take())!.id).toBe(id);
      await world.clock.advance(LOST_AFTER_MS + 1000);
    }
    expect((await world.status(id)).status).toBe("IN_QUEUE");
  });
});

describe("jobs that a ping leaves out", () => {
  test("once may be by chance, twice in a row means that nobody is at them: another gets them", async () => {
    await using at = await running(2);
    await ping(at.worker, [at.ids[1]!]);
    expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
    await at.world.clock.advance(INTERVAL_MS);
    await ping(at.worker, [at.ids[1]!]);
    expect(await at.world.status(at.id)).toMatchObject({
      status: "IN_QUEUE",
      waitReason: expect.stringContaining(
        `worker ${at.worker.id} took the job and is not at it: it never began it, or its result did not arrive`,
      ),
    });
    expect((await at.world.status(at.ids[1]!)).status).toBe("IN_PROGRESS");
    expect((await (await at.world.worker()).take())!.id).toBe(at.id);
  });

  test.each<[string, (worker: TestWorker, job: string) => Promise<unknown>]>([
    ["a ping", (worker, job) => ping(worker, [job])],
    ["a chunk", (worker, job) => worker.chunk(job, "once upon")],
    ["progress", (worker, job) => worker.done(job, { status: "IN_PROGRESS", output: 1 })],
  ])("are not said to be never begun when %s has shown that they were", async (_, show) => {
    await using at = await running();
    await show(at.worker, at.id);
    await pingTwice(at, []);
    const { waitReason } = await at.world.status(at.id);
    expect(waitReason).toContain(`worker ${at.worker.id} was at the job and no longer is, and no result of it arrived`);
  });

  test("once, then listed, then once again: it stays", async () => {
    await using at = await running();
    for (const listed of [[], [at.id], [], [at.id], []]) {
      await ping(at.worker, listed);
      await at.world.clock.advance(INTERVAL_MS);
    }
    expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
  });

  test("by a worker that pings every second are its own until it has had the time to read them", async () => {
    await using at = await running();
    for (let elapsed = 0; elapsed < OMITTED_MS; elapsed += 1000) {
      await ping(at.worker, []);
      expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
      await at.world.clock.advance(1000);
    }
    await ping(at.worker, []);
    expect((await at.world.status(at.id)).status).toBe("IN_QUEUE");
  });

  test("those of a worker that is about to get them are not counted against it", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    await ping(worker, []);
    const id = await world.begun(worker);
    await ping(worker, []);
    expect((await world.status(id)).status).toBe("IN_PROGRESS");
  });

  test.each([["1.7.11"], ["1.7.12"], ["1.8.0"], ["1.9.5"], ["1.10.0"]])(
    "from release %s, whose workers share one list, it means nothing",
    async (version) => {
      await using at = await running();
      for (let i = 0; i < 5; i++) {
        await ping(at.worker, [], version);
        await at.world.clock.advance(INTERVAL_MS);
      }
      expect((await at.world.status(at.id)).status).toBe("IN_PROGRESS");
    },
  );

  test("a list of those releases neither withholds a job from a worker nor tells it to stop one", async () => {
    await using at = await running();
    const [first, second] = [await at.world.worker(), await at.world.worker()];
    const waiting = await at.world.submit();
    await ping(first, [at.id, waiting], "1.10.0");
    await ping(second, [at.id, waiting], "1.10.0");
    const stop = first.ask("GET job-stop");
    expect((await first.take())!.id).toBe(waiting);
    await at.world.clock.advance(25_000);
    expect((await stop).status).toBe(204);
    expect(await at.world.status(at.id)).toMatchObject({ workerId: at.worker.id });
  });

  test.each([
    ["1.7.10", true],
    ["1.7.11", false],
    ["1.9.0", false],
    ["1.10.0", false],
    ["1.10.1", true],
    ["1.12.0", true],
    ["0.9.0", true],
    ["2.0.0", true],
    ["", true],
    ["1.11.0rc1", true],
  ])("lists of release %s are believed: %s", (version, believed) => expect(listsAreTrusted(version)).toBe(believed));
});

describe("jobs that a ping lists", () => {
  test("a job that waits, and that this worker is busy with, is its own again: no one else gets it", async () => {
    await using at = await running();
    await at.world.clock.advance(LOST_AFTER_MS + 1000);
    expect((await at.world.status(at.id)).status).toBe("IN_QUEUE");
    await ping(at.worker, [at.id]);
    expect(await at.world.status(at.id)).toMatchObject({ status: "IN_PROGRESS", workerId: at.worker.id });
    await at.worker.done(at.id, { output: 1 });
    expect((await at.world.status(at.id)).status).toBe("COMPLETED");
  });

  test("a job that another has meanwhile stays with the other", async () => {
    await using at = await running();
    await at.world.clock.advance(LOST_AFTER_MS + 1000);
    const other = await at.world.worker();
    await other.take();
    await ping(at.worker, [at.id]);
    expect((await at.world.status(at.id)).workerId).toBe(other.id);
  });

  test("unknown and finished jobs, and those of another endpoint, are left as they are", async () => {
    await using at = await running();
    await at.worker.done(at.id, { output: 1 });
    expect((await ping(at.worker, ["nothing", at.id])).status).toBe(200);
    expect((await at.world.status(at.id)).status).toBe("COMPLETED");
  });

  test("a worker does not get a job anew while it still lists the run before, and does once it no longer does", async () => {
    await using at = await running();
    await ping(at.worker, [at.id]);
    await at.world.invoke("POST", `/cancel/${at.id}`);
    const failed = await at.world.begun(at.worker);
    await ping(at.worker, [failed]);
    await at.worker.done(failed, { error: "x" });
    await ping(at.worker, [failed]);
    await at.world.invoke("POST", `/retry/${failed}`);
    const answer = at.worker.take();
    await at.world.clock.armed(HOLD_TAKE_MS);
    expect((await at.world.status(failed)).status).toBe("IN_QUEUE");
    await ping(at.worker, []);
    expect((await answer)!.id).toBe(failed);
  });
});
