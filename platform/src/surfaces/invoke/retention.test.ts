/** How long results are kept: it depends on how the job was submitted, and a caller can shorten it. */
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

async function ranSync(world: JobWorld, worker: TestWorker, query: string, result: object): Promise<string> {
  const answer = world.invoke("POST", `/runsync${query}`, { body: { input: {} } });
  const { id } = (await worker.take())!;
  await worker.done(id, result);
  await answer;
  return id;
}

async function ran(world: JobWorld, worker: TestWorker, _query: string, result: object): Promise<string> {
  const id = await world.begun(worker);
  await worker.done(id, result);
  return id;
}

const isThere = async (world: JobWorld, id: string) => (await world.invoke("GET", `/status/${id}`)).status === 200;

/** Expects the result to exist until just before this time after its end, and no longer. */
async function expectKept(world: JobWorld, id: string, keptMs: number): Promise<void> {
  await world.clock.advance(keptMs - 1);
  expect(await isThere(world, id)).toBe(true);
  await world.clock.advance(1);
  expect(await isThere(world, id)).toBe(false);
}

test.each([
  ["/run", "", ran, 30 * MINUTE_MS],
  ["/runsync", "", ranSync, MINUTE_MS],
  ["/runsync?wait=1000", "?wait=1000", ranSync, 5 * MINUTE_MS],
  ["/runsync?wait=90000", "?wait=90000", ranSync, 5 * MINUTE_MS],
])("a result of %s is kept for its time after the end, whatever the end was", async (_path, query, run, keptMs) => {
  for (const result of [{ output: 1 }, { error: "x" }]) {
    await using world = await setupJobs();
    const id = await run(world, await world.worker(), query, result);
    await expectKept(world, id, keptMs);
  }
});

test("the time counts from the end, not from the submission", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await world.submit();
  await world.clock.advance(40 * MINUTE_MS);
  await worker.take();
  await worker.done(id, { output: 1 });
  await expectKept(world, id, 30 * MINUTE_MS);
});

test("a retry starts it anew", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await ran(world, worker, "", { error: "x" });
  await world.clock.advance(29 * MINUTE_MS);
  await world.invoke("POST", `/retry/${id}`);
  await world.clock.advance(29 * MINUTE_MS);
  await world.invoke("POST", `/cancel/${id}`);
  await expectKept(world, id, 30 * MINUTE_MS);
});

test("what expired is gone from the queue, not only from sight", async () => {
  await using world = await setupJobs();
  const id = await ran(world, await world.worker(), "", { output: 1 });
  await world.clock.advance(30 * MINUTE_MS + 2 * SECOND_MS);
  expect(await world.queue.read(id, 0)).toBeUndefined();
});

describe("a job that no longer exists", () => {
  const RUN = "results of /run are kept for 30 minutes after the end, or for less where 'ttl' of /status said so";
  const RUNSYNC =
    "results of /runsync are kept for 1 minute after the end, 5 minutes with 'wait', or for less where 'ttl' of /status said so";

  test.each([
    ["/run", "", ran, 30 * MINUTE_MS, RUN],
    ["/runsync", "", ranSync, MINUTE_MS, RUNSYNC],
  ])("of %s may have expired, and the refusal says so", async (_path, query, run, keptMs, kept) => {
    await using world = await setupJobs();
    const id = await run(world, await world.worker(), query, { output: 1 });
    await world.clock.advance(keptMs);
    const text = `job not found: it is unknown here, or it has expired: ${kept}`;
    for (const [method, path] of [
      ["GET", "/status"],
      ["GET", "/stream"],
      ["POST", "/cancel"],
      ["POST", "/retry"],
    ] as const) {
      const { status, json } = await world.invoke(method, `${path}/${id}`);
      expect([path, status, json.error]).toEqual([path, 404, text]);
    }
  });

  test("is refused with the same words whether it is foreign, expired or was never there", async () => {
    await using world = await setupJobs();
    const mine = await ran(world, await world.worker(), "", { output: 1 });
    const stranger = await world.strangersKey();
    const body = { name: "theirs", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const theirs = (await world.call("POST", "/v2/serverless", { key: stranger, body })).json.id;
    const asked = async (id: string) => (await world.call("GET", `/v2/${theirs}/status/${id}`, { key: stranger })).text;
    const whileThere = await asked(mine);
    expect(await asked(`${mine.slice(0, -5)}00-u1`)).toBe(whileThere);
    await world.clock.advance(30 * MINUTE_MS);
    expect(await asked(mine)).toBe(whileThere);
  });

  test.each([["no-such-job"], ["f1a1e065-5197-76e6-ad20-a0ac8c5b7a14-u1"], ["01a1e065-5197-46e6-ad20-a0ac8c5b7a14"]])(
    "under an id that this server cannot have given out, '%s', cannot have expired",
    async (id) => {
      await using world = await setupJobs();
      expect((await world.invoke("GET", `/status/${id}`)).json.error).toBe("job not found");
    },
  );
});

test("that a job was purged is remembered for half an hour", async () => {
  await using world = await setupJobs();
  const id = await world.submit();
  await world.invoke("POST", "/purge-queue");
  const text = async () => (await world.invoke("GET", `/status/${id}`)).json.error;
  await world.clock.advance(30 * MINUTE_MS - 1);
  expect(await text()).toBe("job not found: it was removed by purge-queue");
  await world.clock.advance(1);
  expect(await text()).toMatch(/^job not found: it is unknown here, or it has expired/);
});

describe("/status?ttl", () => {
  test.each([["GET"], ["POST"]])("by %s: a finished job expires that long after the request", async (method) => {
    await using world = await setupJobs();
    const id = await ran(world, await world.worker(), "", { output: 1 });
    await world.clock.advance(MINUTE_MS);
    const { status, json } = await world.invoke(method, `/status/${id}?ttl=5000`);
    expect([status, json.output]).toEqual([200, 1]);
    await expectKept(world, id, 5000);
  });

  test.each([["IN_QUEUE"], ["IN_PROGRESS"]])("of a job %s: it expires that long after its end", async (state) => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = state === "IN_QUEUE" ? await world.submit() : await world.begun(worker);
    await world.invoke("GET", `/status/${id}?ttl=5000`);
    await world.clock.advance(MINUTE_MS);
    expect((await world.status(id)).id).toBe(id);
    await world.invoke("POST", `/cancel/${id}`);
    await expectKept(world, id, 5000);
  });

  test("only shortens: a longer time changes nothing", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const finished = await ranSync(world, worker, "", { output: 1 });
    await world.invoke("GET", `/status/${finished}?ttl=604800000`);
    await world.invoke("GET", `/status/${finished}?ttl=5000`);
    await world.invoke("GET", `/status/${finished}?ttl=50000`);
    await expectKept(world, finished, 5000);
  });

  test("only shortens, also when many ask at once", async () => {
    await using world = await setupJobs();
    const id = await ran(world, await world.worker(), "", { output: 1 });
    const times = [9000, 5000, 50_000, 7000, 6000];
    await Promise.all(times.map((ttl) => world.invoke("GET", `/status/${id}?ttl=${ttl}`)));
    await expectKept(world, id, 5000);
  });

  test.each([["0"], ["-5"], ["604800001"], ["1.5"], ["soon"], [""]])("=%s is 400", async (ttl) => {
    await using world = await setupJobs();
    const id = await world.submit();
    const { status, json } = await world.invoke("GET", `/status/${id}?ttl=${ttl}`);
    const text = "'ttl' must be an integer from 1 to 604800000 (milliseconds)";
    expect([status, json]).toEqual([400, { error: text, message: text }]);
  });
});
