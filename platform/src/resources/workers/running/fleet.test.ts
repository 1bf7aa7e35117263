/** Workers start for work and end without it, as clients and workers see it. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../../tests/fleet-world.ts";
import { MemoryStore } from "../../../ports/store/memory-store.ts";

describe("a first job", () => {
  test("at zero workers starts one at once, with the variables it needs", async () => {
    await using world = await setupFleet({ endpoint: { env: { LEVEL: "9" } } });
    expect(world.started).toEqual([]);
    await world.submit();
    await world.settle();
    const [worker] = world.running();
    expect(worker!.env).toMatchObject({
      LEVEL: "9",
      MILLRACE_WORKER_ID: worker!.id,
      RUNPOD_POD_ID: worker!.id,
      RUNPOD_CPU_COUNT: "2",
      RUNPOD_MEM_GB: "4",
      RUNPOD_WEBHOOK_GET_JOB: `${world.url}/v2/${world.endpoint}/job-take/${worker!.id}?gpu=none`,
    });
    expect(worker!.instance.spec).toMatchObject({ kind: "worker", owner: world.endpoint, image: "host:/app" });
  });

  test("waits for the worker to start, is told so, and is run by it", async () => {
    await using world = await setupFleet();
    const job = await world.submit();
    await world.settle();
    await world.pass(3);
    expect((await world.status(job)).waitReason).toBe("worker starting (3 s)");
    expect((await world.health()).waitReason).toBe("worker starting (3 s)");
    const [worker] = world.running();
    expect((await worker!.take())?.id).toBe(job);
    await worker!.done(job);
    expect(await world.status(job)).toMatchObject({ status: "COMPLETED", workerId: worker!.id });
  });

  test("starts one worker, however many jobs come with it", async () => {
    await using world = await setupFleet();
    for (let i = 0; i < 5; i++) await world.submit();
    await world.settle();
    await world.pass(3);
    expect(world.started).toHaveLength(1);
  });
});

describe("more workers", () => {
  test("come for jobs that have waited too long, and never more than max", async () => {
    await using world = await setupFleet({ endpoint: { workers: { max: 3 } } });
    for (let i = 0; i < 9; i++) await world.submit();
    await world.settle();
    await world.running()[0]!.take();
    await world.pass(5);
    expect(world.started).toHaveLength(3);
    await world.pass(20);
    expect(world.started).toHaveLength(3);
  });

  test("are not started for jobs of low priority", async () => {
    await using world = await setupFleet();
    const job = await world.submit({ policy: { lowPriority: true } });
    await world.pass(10);
    expect(world.started).toEqual([]);
    expect((await world.status(job)).waitReason).toMatch("low priority");
  });

  test("come at once by the count of requests", async () => {
    const scaling = { type: "REQUEST_COUNT", requestCount: 2 };
    await using world = await setupFleet({ endpoint: { scaling } });
    for (let i = 0; i < 4; i++) await world.submit();
    await world.pass(1);
    expect(world.started).toHaveLength(2);
  });

  test("min is kept running without any job, and replaced when one ends", async () => {
    await using world = await setupFleet({ endpoint: { workers: { min: 2, max: 3 } } });
    await world.settle();
    expect(world.running()).toHaveLength(2);
    for (const worker of world.running()) await worker.ping();
    await world.pass(15);
    world.running()[0]!.instance.exit({ signal: "SIGKILL" });
    await world.settle();
    expect([world.running().length, world.started.length]).toEqual([2, 3]);
  });
});

describe("an idle worker", () => {
  test("ends after the idle timeout, with nothing left of it", async () => {
    await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 7 } } });
    const job = await world.submit();
    await world.settle();
    const [worker] = world.running();
    await worker!.take();
    await world.pass(20);
    await worker!.done(job);
    await world.pass(6);
    await worker!.ping();
    expect(world.running()).toHaveLength(1);
    await world.pass(2);
    expect([world.running(), await world.compute.list(), await world.records()]).toEqual([[], [], []]);
    expect((await world.after(5, worker!.ask("GET ping"))).status).toBe(401);
  });

  test("that is given a job now and then stays, however short its jobs are", async () => {
    await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 5 } } });
    for (let i = 0; i < 5; i++) {
      const job = await world.submit();
      await world.settle();
      const [worker] = world.running();
      await worker!.take();
      await worker!.done(job);
      await world.pass(4);
    }
    expect(world.started).toHaveLength(1);
  });
});

test("a worker that is being ended is let go first, and the job that comes then is for another", async () => {
  await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 1 } } });
  const first = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  await worker!.done(first);
  const held = worker!.ask("GET job-take");
  const stillHere = Promise.withResolvers<void>();
  worker!.instance.onAsk = stillHere.resolve;
  await world.after(2, stillHere.promise);
  expect((await held).status).toBe(204);
  const second = await world.submit();
  expect((await world.after(1, worker!.ask("GET job-take"))).status).toBe(204);
  expect((await world.running()[1]!.take())?.id).toBe(second);
});

test("200 idle endpoints cost nothing: a look at them all reads as little as a look at none", async () => {
  class CountingStore extends MemoryStore {
    reads = 0;

    override get(...args: Parameters<MemoryStore["get"]>) {
      this.reads++;
      return super.get(...args);
    }

    override list(...args: Parameters<MemoryStore["list"]>) {
      this.reads++;
      return super.list(...args);
    }
  }
  const store = new CountingStore();
  await using world = await setupFleet({ store, rateLimits: "off" });
  const readsOver = async (seconds: number) => {
    await world.pass(2);
    const before = store.reads;
    await world.pass(seconds);
    return store.reads - before;
  };
  const ofOne = await readsOver(20);
  for (let i = 0; i < 200; i++) {
    const body = { name: `idle-${i}`, image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    await world.call("POST", "/v2/serverless", { body });
  }
  expect(await readsOver(20)).toBeLessThanOrEqual(ofOne);
});
