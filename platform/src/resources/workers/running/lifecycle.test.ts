/** Releases, restarts, and the end of servers and endpoints: what happens to workers and their jobs. */
import { describe, expect, test } from "vitest";
import { type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";
import { putWorker, workerDoc } from "../../../../tests/worker-doc.ts";

/** A worker that has begun a job. */
async function busyWorker(world: FleetWorld): Promise<{ worker: Program; job: string }> {
  const job = await world.submit();
  await world.settle();
  const worker = world.running().at(-1)!;
  await worker.take();
  await world.settle();
  return { worker, job };
}

describe("a new release", () => {
  test("replaces an idle worker at once, and a busy one after its job", async () => {
    await using world = await setupFleet({ endpoint: { workers: { min: 2, max: 3 } } });
    await world.settle();
    const [busy, idle] = world.running();
    await idle!.ping();
    const job = await world.submit();
    await busy!.take();
    await world.change({ image: "host:/new" });
    expect([busy!.instance.exited, idle!.instance.exited]).toEqual([false, true]);
    await busy!.done(job);
    await world.pass(1);
    expect(world.running().map(({ instance }) => instance.spec.image)).toEqual(["host:/new", "host:/new"]);
    expect((await world.status(job)).status).toBe("COMPLETED");
    expect(await world.log(busy!.id)).toContain("[ending: new release 2]");
  });

  test("gives a job of the old release's busy worker to nobody else, and new jobs to the new release", async () => {
    await using world = await setupFleet();
    const { worker: old, job } = await busyWorker(world);
    await world.change({ env: { NEW: "1" } });
    const next = await world.submit();
    await world.settle();
    expect((await world.after(1, old.ask("GET job-take"))).status).toBe(204);
    const fresh = world.running().at(-1)!;
    expect([(await fresh.take())?.id, fresh.env.NEW]).toEqual([next, "1"]);
    await old.done(job);
    expect((await world.status(job)).status).toBe("COMPLETED");
  });

  test("never runs more workers than max: it waits for the last job of the old one, and says so", async () => {
    await using world = await setupFleet({ endpoint: { workers: { max: 1 } } });
    const { worker, job } = await busyWorker(world);
    await world.change({ env: { NEW: "1" } });
    const next = await world.submit();
    await world.pass(1);
    expect(world.running()).toHaveLength(1);
    expect((await world.status(next)).waitReason).toBe("1 worker of an older release still busy (max 1)");
    await worker.done(job);
    await world.pass(1);
    expect((await world.running()[0]!.take())?.id).toBe(next);
  });

  test("is not made by a change of scaling: workers stay", async () => {
    await using world = await setupFleet();
    const { worker } = await busyWorker(world);
    await world.change({ workers: { max: 5 }, timeout: 6000 });
    await world.pass(2);
    expect(worker.instance.exited).toBe(false);
  });
});

describe("after a crash of the server", () => {
  test("workers are recovered with their keys, and each job is committed once", async () => {
    const before = await setupFleet();
    const { worker, job } = await busyWorker(before);
    await using world = await before.crash();
    const [recovered] = world.running();
    expect([recovered!.id, world.started]).toEqual([worker.id, [worker.id]]);
    await recovered!.done(job);
    expect(await world.status(job)).toMatchObject({ status: "COMPLETED", workerId: worker.id });
    await world.pass(2);
    expect([world.started.length, (await world.record(worker.id))?.state]).toEqual([1, "READY"]);
    expect((await world.health()).jobs).toMatchObject({ completed: 1, retried: 0 });
  });

  test("a worker that ended meanwhile is gone, and its job runs again", async () => {
    const before = await setupFleet();
    const { worker, job } = await busyWorker(before);
    await before.abandon();
    worker.instance.exit({ signal: "SIGKILL" });
    before.compute.lose(worker.id);
    await using world = await before.crash();
    await world.pass(1);
    expect((await world.running()[0]!.take())?.id).toBe(job);
  });

  test("what runs without a record is removed", async () => {
    const before = await setupFleet();
    const { worker, job } = await busyWorker(before);
    await before.abandon();
    await before.services.workerRecords.remove(worker.id);
    await using world = await before.crash();
    expect(worker.instance.exited).toBe(true);
    await world.pass(1);
    expect((await world.running()[0]!.take())?.id).toBe(job);
  });

  test("a boot that was begun and not noted is taken up as it is", async () => {
    const before = await setupFleet();
    await before.submit();
    await before.settle();
    const [worker] = before.running();
    await before.abandon();
    const item = (await before.services.workerRecords.all())[0]!;
    await before.services.workerRecords.remove(worker!.id);
    const doc = workerDoc({ ...item.doc, state: "PLACED", startedAt: null });
    await putWorker(before.services.workerRecords, { ...item, doc });
    await using world = await before.crash();
    expect(world.started).toEqual([worker!.id]);
    expect(await world.running()[0]!.take()).toBeDefined();
  });

  test("a boot that was placed and not begun is begun", async () => {
    const before = await setupFleet();
    before.compute.fail("start", new Error("the machine is slow"));
    const job = await before.submit();
    await before.abandon();
    before.compute.fail("start", undefined);
    await using world = await before.crash();
    await world.pass(2);
    expect((await world.running()[0]!.take())?.id).toBe(job);
  });

  test("lines that were written meanwhile are kept once, in order", async () => {
    const before = await setupFleet();
    const { worker } = await busyWorker(before);
    worker.instance.write("one\n");
    await before.settle();
    await before.abandon();
    worker.instance.write("two\n");
    await using world = await before.crash();
    worker.instance.write("three\n");
    await world.settle();
    const lines = await world.log(worker.id);
    expect(lines.filter((line) => !line.startsWith("["))).toEqual(["one", "two", "three"]);
  });
});

describe("the end of the server", () => {
  test("leaves no worker, no record and no key", async () => {
    const world = await setupFleet({ endpoint: { workers: { min: 2, max: 2 } } });
    await world.settle();
    await world[Symbol.asyncDispose]();
    expect([await world.compute.list(), await world.records()]).toEqual([[], []]);
    const keys = await world.store.list({ kind: "worker-key", limit: 10 });
    expect(keys).toEqual([]);
  });

  test("waits a moment for the job that a worker has, whose result is kept", async () => {
    const world = await setupFleet();
    const { worker, job } = await busyWorker(world);
    const ending = world[Symbol.asyncDispose]();
    expect(await worker.done(job)).toBe(200);
    await ending;
    expect(await world.queue.read(job, world.clock.now())).toMatchObject({ job: { state: "COMPLETED" } });
  });

  test("gives a job back that is not done by then, as if it had never begun", async () => {
    const world = await setupFleet();
    const { worker, job } = await busyWorker(world);
    await world[Symbol.asyncDispose]();
    expect(worker.instance.exited).toBe(true);
    const { job: left } = (await world.queue.read(job, world.clock.now())) as { job: object };
    expect(left).toMatchObject({ state: "IN_QUEUE", spent: 0, retried: 0 });
  });

  test("leaves Pods alone", async () => {
    const world = await setupFleet();
    const pod = { ...(await specOf(world)), kind: "pod" as const, owner: "pod" };
    await world.compute.start("pod", pod);
    await world[Symbol.asyncDispose]();
    expect((await world.compute.list()).map(({ id, state }) => [id, state])).toEqual([["pod", "running"]]);
  });
});

async function specOf(world: FleetWorld) {
  await world.submit();
  await world.settle();
  return world.running()[0]!.instance.spec;
}

test("an endpoint that is deleted takes its workers, their records, keys and logs with it", async () => {
  await using world = await setupFleet();
  const { worker } = await busyWorker(world);
  worker.instance.write("private\n");
  await world.settle();
  expect((await world.call("DELETE", `/v2/serverless/${world.endpoint}`)).status).toBe(204);
  expect([worker.instance.exited, await world.records()]).toEqual([true, []]);
  expect(await world.store.list({ kind: "worker-key", limit: 10 })).toEqual([]);
  expect(await world.log(worker.id)).toEqual([]);
  await world.pass(2);
  expect(world.started).toHaveLength(1);
});

describe("max 0", () => {
  test("pauses: jobs wait with the reason, and workers end with their last job", async () => {
    await using world = await setupFleet();
    const { worker, job } = await busyWorker(world);
    await world.change({ workers: { max: 0 } });
    const next = await world.submit();
    await world.pass(1);
    expect(worker.instance.exited).toBe(false);
    await worker.done(job);
    await world.pass(1);
    expect([worker.instance.exited, world.running()]).toEqual([true, []]);
    expect(await world.status(next)).toMatchObject({
      waitReason: "paused: max workers is 0",
      waitReasonCode: "paused",
    });
    await world.change({ workers: { max: 1 } });
    expect(world.running()).toHaveLength(1);
  });
});

describe("capacity", () => {
  const A40 = "NVIDIA A40";
  const L4 = "NVIDIA L4";
  const gpus = [
    { type: A40, count: 1, virtual: false },
    { type: L4, count: 1, virtual: false },
  ];
  const endpoint = { gpu: { pools: ["AMPERE_48", "AMPERE_24"] }, workers: { min: 3, max: 3 } };

  test("GPU workers get devices of their own, in the order of the types, until there are none", async () => {
    await using world = await setupFleet({ machine: { capacity: { gpus } }, endpoint });
    await world.settle();
    const given = world.running().map(({ instance }) => instance.spec.gpu);
    expect(given).toEqual([A40, L4].map((type) => ({ type, count: 1 })));
    expect(world.running()[0]!.env).toMatchObject({ RUNPOD_GPU_COUNT: "1", RUNPOD_GPU_NAME: "NVIDIA+A40" });
    const wanted = (await world.records()).find(({ state }) => state === "WANTED");
    expect(wanted?.reason?.code).toBe("no-capacity");
    expect(wanted?.reason?.text).toMatch(/^no capacity: needs 1x NVIDIA A40, NVIDIA .* 0 of 2 free$/);
  });

  test("a worker that waits for a device gets the one that becomes free", async () => {
    await using world = await setupFleet({
      machine: { capacity: { gpus: gpus.slice(0, 1) } },
      endpoint: { ...endpoint, workers: { max: 1 } },
    });
    const other = { name: "other", image: "host:/app", gpu: { id: A40 }, workers: { min: 1, max: 1 } };
    const { id } = (await world.call("POST", "/v2/serverless", { body: other })).json;
    await world.settle();
    const job = await world.submit();
    await world.settle();
    expect((await world.status(job)).waitReason).toMatch(/^no capacity: needs 1x /);
    await world.call("DELETE", `/v2/serverless/${id}`);
    await world.pass(1);
    expect((await world.running()[0]!.take())?.id).toBe(job);
  });
});

test("where the time of a cold start went is said in the worker's log", async () => {
  await using world = await setupFleet();
  world.compute.startMs = 300;
  await world.submit();
  await world.settle();
  await world.clock.advance(300);
  await world.settle();
  await world.clock.advance(500);
  await world.running()[0]!.ping();
  await world.settle();
  expect(await world.log(world.started[0]!)).toContain(
    "[ready after 800 ms (scheduled 0 ms, image 0 ms, created 300 ms, first ask 500 ms)]",
  );
});

test("a worker that the server itself ends is no warning", async () => {
  await using world = await setupFleet();
  await busyWorker(world);
  await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
  await world.pass(1);
  expect(world.logged.filter((line) => line.includes("a worker failed"))).toEqual([]);
});
