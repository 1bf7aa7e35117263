/** Warm-up: what each new worker does before it counts as ready and gets real jobs. */
import { describe, expect, test } from "vitest";
import { type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";

const WARM = { workers: { max: 1, warmup: { input: { prompt: "hello" }, timeout: 60_000 } } };

async function statusOf(world: FleetWorld): Promise<string[]> {
  const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
  return workers.map(({ status }: { status: string }) => status);
}

/** A new worker and the job that it was started for. */
async function started(world: FleetWorld): Promise<{ worker: Program; job: string }> {
  const job = await world.submit();
  await world.settle();
  return { worker: world.running()[0]!, job };
}

describe("a new worker of an endpoint with a warm-up", () => {
  test("gets it with its first ask, before any job, and is ready once it is done", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker, job } = await started(world);
    const first = await worker.take();
    expect(first).toEqual({ id: `warmup-${worker.id}`, input: { prompt: "hello" } });
    await world.pass(3);
    expect(await statusOf(world)).toEqual(["INITIALIZING"]);
    expect((await world.status(job)).waitReason).toBe("worker warming up (3 s)");
    expect(await worker.done(first!.id, { output: "warm" })).toBe(200);
    expect((await worker.take())?.id).toBe(job);
    expect(await statusOf(world)).toEqual(["RUNNING"]);
    expect(await world.log(worker.id)).toEqual([
      "[starting host:/app (release 1)]",
      '[warmed up in 3000 ms: {"output":"warm"}]',
      expect.stringMatching(/^\[ready after \d+ ms \(.*first ask \d+ ms, warm-up 3000 ms\)\]$/),
    ]);
  });

  test("leaves no trace of it among the jobs", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker, job } = await started(world);
    const { id } = (await worker.take())!;
    await worker.ask("POST job-stream", { job: id, body: { output: "piece" } });
    await worker.done(id, { status: "IN_PROGRESS", output: 50 });
    await worker.done(id);
    await worker.take();
    await worker.done(job);
    const { requests, total } = (await world.call("GET", `/v2/${world.endpoint}/requests`)).json;
    expect([total, requests[0].id, (await world.health()).jobs]).toMatchObject([
      1,
      job,
      { completed: 1, failed: 0, inProgress: 0, retried: 0 },
    ]);
    expect((await world.call("GET", `/v2/${world.endpoint}/status/${id}`)).status).toBe(404);
  });

  test("may list it in its pings and is not told to stop it; what else it asks for waits", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker, job } = await started(world);
    const [first] = (await worker.ask("GET job-take-batch", { query: "&batch_size=3" })).json;
    const second = worker.take();
    const stop = worker.ask("GET job-stop");
    for (let i = 0; i < 2; i++) {
      await world.pass(9);
      await worker.ping([first.id]);
    }
    expect((await world.status(job)).status).toBe("IN_QUEUE");
    await worker.done(first.id);
    expect((await second)?.id).toBe(job);
    expect((await world.after(25, stop)).status).toBe(204);
  });

  test("does it too when it speaks the batched form", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker, job } = await started(world);
    const lines = async (body?: string) =>
      (await worker.ask("POST job-exchange", { body, query: "&take=2" })).text.split("\n").filter(Boolean);
    const [line] = await lines();
    const { id, attempt } = JSON.parse(line!);
    expect([id, attempt]).toEqual([`warmup-${worker.id}`, 1]);
    const [next] = await lines(`${id} 1 {"output":1}`);
    expect(JSON.parse(next!).id).toBe(job);
  });

  test("has not been idle since its first ask", async () => {
    const workers = { ...WARM.workers, idleTimeout: 5 };
    await using world = await setupFleet({ endpoint: { workers: { ...workers, min: 0 } } });
    const { worker, job } = await started(world);
    const { id } = (await worker.take())!;
    await world.pass(20);
    await world.call("POST", `/v2/${world.endpoint}/cancel/${job}`);
    await worker.done(id);
    await worker.ping();
    await world.pass(4);
    expect(worker.instance.exited).toBe(false);
    await world.pass(3);
    expect(worker.instance.exited).toBe(true);
  });
});

describe("a warm-up that goes wrong", () => {
  test("fails the boot with its reason, and the next one waits for the brake", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker, job } = await started(world);
    await worker.done((await worker.take())!.id, { error: "no such model" });
    await world.settle();
    expect([worker.instance.exited, (await world.status(job)).waitReason]).toEqual([
      true,
      "worker failed: warm-up failed: no such model",
    ]);
    expect(world.started).toHaveLength(1);
    await world.pass(2);
    expect(world.started).toHaveLength(2);
    expect((await world.running()[0]!.take())?.id).toBe(`warmup-${world.started[1]}`);
  });

  test("fails it when it does not end in time, however well the worker pings", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker, job } = await started(world);
    const { id } = (await worker.take())!;
    for (let i = 0; i < 5; i++) {
      await world.pass(10);
      await worker.ping([id]);
    }
    await world.pass(9);
    expect(worker.instance.exited).toBe(false);
    await world.pass(2);
    expect([worker.instance.exited, (await world.status(job)).waitReason]).toEqual([
      true,
      "worker failed: warm-up did not end within 60 s",
    ]);
  });

  test("fails it when the worker is heard of and never asks for it", async () => {
    const env = { MILLRACE_INIT_TIMEOUT: "30" };
    await using world = await setupFleet({ endpoint: { ...WARM, env } });
    const { worker } = await started(world);
    for (let i = 0; i < 4; i++) {
      expect(worker.instance.exited).toBe(false);
      await worker.ping();
      await world.pass(8);
    }
    expect(worker.instance.exited).toBe(true);
  });

  test("is handed out once more when two pings do not list it", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const { worker } = await started(world);
    await worker.take();
    await world.pass(10);
    await worker.ping();
    const again = worker.take();
    await world.pass(11);
    await worker.ping();
    expect((await again)?.id).toBe(`warmup-${worker.id}`);
  });
});

test("a server that comes back takes a worker for warm that reports its warm-up", async () => {
  const before = await setupFleet({ endpoint: WARM });
  const { worker, job } = await started(before);
  const { id } = (await worker.take())!;
  await using world = await before.crash();
  await world.pass(1);
  expect(await statusOf(world)).toEqual(["INITIALIZING"]);
  const [same] = world.running();
  await same!.done(id);
  expect((await same!.take())?.id).toBe(job);
  expect(world.started).toEqual([worker.id]);
});

test("of two nodes either may hand it out and hear of its end", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  await using first = await setupFleet({ signals, endpoint: WARM, machine: { name: "first" } });
  await using second = await setupFleet({
    ...{ signals, store: first.store, found: first, endpoint: first.endpoint },
    machine: { name: "second", capacity: { vcpu: 0 } },
  });
  const job = await first.submit();
  await first.pass(2);
  await second.settle();
  const [worker] = first.running();
  const base = `/v2/${first.endpoint}`;
  const key = worker!.env.RUNPOD_AI_API_KEY!;
  const { id } = (await second.call("GET", `${base}/job-take/${worker!.id}?x=1`, { key })).json;
  expect(id).toBe(`warmup-${worker!.id}`);
  await second.call("POST", `${base}/job-done/${worker!.id}/${id}?x=1`, { key, body: { output: 1 } });
  await first.pass(2);
  expect((await first.record(worker!.id))?.state).toBe("READY");
  expect((await second.call("GET", `${base}/job-take/${worker!.id}?x=1`, { key })).json.id).toBe(job);
  expect(await first.log(worker!.id)).toContainEqual(expect.stringMatching(/^\[warmed up in \d+ ms/));
});

test("a frozen worker is warm when it is thawed", async () => {
  await using world = await setupFleet({
    endpoint: { workers: { ...WARM.workers, idleTimeout: 1 }, flashboot: "FLASHBOOT" },
  });
  const { worker, job } = await started(world);
  await worker.done((await worker.take())!.id);
  await worker.take();
  await worker.done(job);
  await world.pass(3);
  expect((await world.record(worker.id))?.state).toBe("FROZEN");
  const next = await world.submit();
  await world.settle();
  expect((await worker.take())?.id).toBe(next);
});

describe("the field", () => {
  const body = { name: "w", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

  test("is shown, changed and cleared", async () => {
    await using world = await setupFleet({ endpoint: WARM });
    const path = `/v2/serverless/${world.endpoint}`;
    expect((await world.call("GET", path)).json.workers.warmup).toEqual(WARM.workers.warmup);
    await world.change({ workers: { warmup: { input: {} } } });
    expect((await world.call("GET", path)).json.workers).toMatchObject({ max: 1, warmup: { input: {} } });
    await world.change({ workers: { warmup: null } });
    expect((await world.call("GET", path)).json.workers).not.toHaveProperty("warmup");
  });

  test("is refused where it has no meaning, is too large or is no object", async () => {
    await using world = await setupFleet();
    const refusal = async (change: object) => {
      const { status, json } = await world.call("POST", "/v2/serverless", { body: { ...body, ...change } });
      return [status, json.detail];
    };
    const warmup = { input: {} };
    expect(await refusal({ type: "LOAD_BALANCER", workers: { warmup } })).toEqual([
      400,
      expect.stringContaining("'workers.warmup' is for QUEUE endpoints"),
    ]);
    expect(await refusal({ workers: { warmup: { input: { text: "x".repeat(65_536) } } } })).toEqual([
      400,
      "'workers.warmup.input' has 65547 bytes of JSON; at most 65536.",
    ]);
    for (const wrong of [{ input: 1 }, { input: [] }, {}, { input: {}, timeout: 0 }, { input: {}, more: 1 }])
      expect((await refusal({ workers: { warmup: wrong } }))[0]).toBe(422);
  });
});
