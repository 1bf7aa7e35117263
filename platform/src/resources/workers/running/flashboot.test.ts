/** FlashBoot: idle workers are frozen instead of ended, and continue with the next job. */
import { describe, expect, test } from "vitest";
import { type FleetOptions, type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";
import { sleep } from "../../../kernel/clock.ts";

const FLASHBOOT = { flashboot: "FLASHBOOT", workers: { max: 3, idleTimeout: 2 } };

/** A worker that did a job and is frozen now. */
async function frozenWorker(world: FleetWorld): Promise<Program> {
  await doneJob(world);
  await world.pass(3);
  return world.running().at(-1)!;
}

async function doneJob(world: FleetWorld): Promise<void> {
  const job = await world.submit();
  await world.settle();
  const worker = world.running().at(-1)!;
  expect((await worker.take())?.id).toBe(job);
  await worker.done(job);
}

const stateOf = ({ instance }: Program) => instance.view().state;

const flashboot = (options: FleetOptions = {}) => setupFleet({ endpoint: FLASHBOOT, ...options });

describe("an idle worker", () => {
  test("ends after the idle timeout with OFF", async () => {
    await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 2 } } });
    await doneJob(world);
    await world.pass(4);
    expect(await world.compute.list()).toEqual([]);
  });

  test("is frozen after the idle timeout with FLASHBOOT, is shown so, and its log says so", async () => {
    await using world = await flashboot();
    const worker = await frozenWorker(world);
    expect([stateOf(worker), (await world.record(worker.id))?.state]).toEqual(["frozen", "FROZEN"]);
    const { workers, summary } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
    expect(workers).toMatchObject([
      { id: worker.id, status: "IDLE", frozen: true, reason: "idle for 2 s", reasonCode: "idle" },
    ]);
    expect(summary).toMatchObject({ idle: 1, running: 0, total: 1 });
    expect((await world.health()).workers).toMatchObject({ idle: 1, ready: 0 });
    expect(await world.log(worker.id)).toContain("[frozen]");
  });

  test("is not frozen while min asks for it", async () => {
    await using world = await setupFleet({ endpoint: { ...FLASHBOOT, workers: { min: 1, max: 2, idleTimeout: 2 } } });
    await doneJob(world);
    for (let s = 0; s < 10; s++) {
      await world.running()[0]!.ping();
      await world.pass(1);
    }
    expect(stateOf(world.running()[0]!)).toBe("running");
  });

  test("ends where the machine cannot freeze it, and its log says why", async () => {
    await using world = await flashboot({ machine: { can: { freezing: false } } });
    await doneJob(world);
    await world.pass(5);
    expect(await world.compute.list()).toEqual([]);
    const reason = "idle for 2 s, and could not be frozen: this driver cannot freeze";
    expect(await world.log(world.started[0]!)).toContain(`[ending: ${reason}]`);
  });

  test("whose polls are held when it is frozen is answered with nothing, on a connection that is closed", async () => {
    await using world = await flashboot();
    await doneJob(world);
    const [worker] = world.running();
    const held = worker!.ask("GET job-take");
    const stop = worker!.ask("GET job-stop");
    const exchange = worker!.ask("POST job-exchange", { query: "&take=1&wait=20000" });
    await world.pass(3);
    for (const { status, headers } of await Promise.all([held, stop]))
      expect([status, headers.get("connection")]).toEqual([204, "close"]);
    // Only our own library sends this. It asks again on the same connection.
    expect((await exchange).headers.get("connection")).toBe("keep-alive");
  });
});

describe("the next job", () => {
  test("thaws the worker at once, and its log says how long it was frozen", async () => {
    await using world = await flashboot();
    const worker = await frozenWorker(world);
    await world.pass(9);
    const job = await world.submit();
    await world.settle();
    expect([stateOf(worker), world.started.length]).toEqual(["running", 1]);
    await world.clock.advance(3);
    expect((await worker.take())?.id).toBe(job);
    await worker.done(job);
    expect(await world.status(job)).toMatchObject({ status: "COMPLETED", workerId: worker.id });
    expect((await world.log(worker.id)).at(-1)).toMatch(/^\[thawed after \d+ s in 3 ms\]$/);
    expect(await world.record(worker.id)).toMatchObject({ state: "READY", reason: null });
  });

  test("is not lost to a worker that was frozen for longer than 90 s: it gets nothing before it asks anew", async () => {
    await using world = await flashboot();
    await doneJob(world);
    const [worker] = world.running();
    const asked = worker!.ask("GET job-take");
    await world.pass(100);
    const readLate = worker!.ask("GET job-take");
    await world.settle();
    const job = await world.submit();
    await world.settle();
    expect([(await asked).status, (await readLate).status]).toEqual([204, 204]);
    expect((await worker!.take())?.id).toBe(job);
    await worker!.done(job);
    expect([(await world.status(job)).status, (await world.health()).jobs.retried]).toEqual(["COMPLETED", 0]);
  });

  test("thaws the one that was frozen last, and each further job one more, up to max", async () => {
    await using world = await flashboot({
      endpoint: { ...FLASHBOOT, scaling: { type: "QUEUE_DELAY", queueDelay: 1 } },
    });
    for (let i = 0; i < 3; i++) await world.submit();
    await world.pass(3);
    const workers = world.running();
    expect(workers).toHaveLength(3);
    const jobs = [];
    for (const worker of workers) jobs.push((await worker.take())!.id);
    for (const [i, worker] of workers.entries()) {
      await worker.done(jobs[i]!);
      await world.pass(1);
    }
    await world.pass(4);
    expect(workers.map(stateOf)).toEqual(["frozen", "frozen", "frozen"]);
    for (const expected of [1, 2, 3, 3]) {
      await world.submit();
      await world.settle();
      expect(workers.map(stateOf).filter((state) => state === "running")).toHaveLength(expected);
      if (expected === 1) expect(stateOf(workers[2]!)).toBe("running");
    }
    expect(world.started).toHaveLength(3);
  });

  test("thaws nobody while a worker waits for it", async () => {
    await using world = await flashboot({
      endpoint: { ...FLASHBOOT, scaling: { type: "QUEUE_DELAY", queueDelay: 1 } },
    });
    for (let i = 0; i < 2; i++) await world.submit();
    await world.pass(3);
    const [one, two] = world.running();
    const first = await one!.take();
    const second = await two!.take();
    await two!.done(second!.id);
    await world.pass(3);
    expect([one, two].map((worker) => stateOf(worker!))).toEqual(["running", "frozen"]);
    await one!.done(first!.id);
    const waiting = one!.take();
    await world.settle();
    const job = await world.submit();
    await world.settle();
    expect([(await waiting)?.id, stateOf(two!)]).toEqual([job, "frozen"]);
    await world.submit();
    await world.settle();
    expect(stateOf(two!)).toBe("running");
  });

  test("that comes while a worker is being frozen is not lost: it thaws that worker", async () => {
    await using world = await flashboot();
    await doneJob(world);
    const [worker] = world.running();
    const held = worker!.ask("GET job-take");
    const freezing = world.compute.freezing!;
    const { freeze } = freezing;
    const slow = Promise.withResolvers<void>();
    freezing.freeze = async (id) => {
      await slow.promise;
      await freeze(id);
    };
    await world.pass(3);
    const job = await world.submit();
    await world.settle();
    slow.resolve();
    await world.settle();
    expect([(await held).status, stateOf(worker!)]).toEqual([204, "running"]);
    expect((await worker!.take())?.id).toBe(job);
    expect(world.started).toHaveLength(1);
  });

  test("starts another worker when the frozen one cannot be thawed", async () => {
    await using world = await flashboot();
    await doneJob(world);
    await world.pass(12);
    const [worker] = world.running();
    expect(stateOf(worker!)).toBe("frozen");
    world.compute.fail("thaw", new Error("the engine is away"));
    const job = await world.submit();
    await world.settle();
    world.compute.fail("thaw", undefined);
    expect(await world.log(worker!.id)).toContain("[failed: could not be thawed: the engine is away]");
    expect((await world.running().at(-1)!.take())?.id).toBe(job);
  });

  test("is done by a worker that the machine takes long to thaw: its time to ask begins when it goes on", async () => {
    await using world = await flashboot();
    const worker = await frozenWorker(world);
    const freezing = world.compute.freezing!;
    const { thaw } = freezing;
    freezing.thaw = async (id) => {
      await sleep(world.clock, 12_000);
      await thaw(id);
    };
    const job = await world.submit();
    await world.pass(15);
    expect([stateOf(worker), world.started.length]).toEqual(["running", 1]);
    expect((await worker.take())?.id).toBe(job);
  });

  test("goes to another worker when the thawed one does not come to itself", async () => {
    await using world = await flashboot();
    await doneJob(world);
    await world.pass(12);
    const [worker] = world.running();
    const job = await world.submit();
    await world.pass(12);
    expect(await world.log(worker!.id)).toContain("[failed: silent for 10 s after its thaw]");
    expect((await world.running().at(-1)!.take())?.id).toBe(job);
  });
});

describe("a frozen worker", () => {
  test("is not lost for its silence", async () => {
    await using world = await flashboot();
    const worker = await frozenWorker(world);
    await world.pass(200);
    expect([stateOf(worker), world.started.length]).toEqual(["frozen", 1]);
  });

  test("ends when it was frozen for as long as it may", async () => {
    await using world = await flashboot({ frozenS: 60 });
    await frozenWorker(world);
    await world.pass(62);
    expect(await world.compute.list()).toEqual([]);
    expect(await world.log(world.started[0]!)).toContain("[ending: frozen for too long]");
  });

  test("of an older release ends at once", async () => {
    await using world = await flashboot();
    const worker = await frozenWorker(world);
    await world.change({ env: { NEW: "1" } });
    expect([worker.instance.exited, await world.compute.list()]).toEqual([true, []]);
  });

  test("ends when the endpoint may have no workers any more", async () => {
    await using world = await flashboot();
    await frozenWorker(world);
    await world.change({ workers: { max: 0 } });
    await world.pass(1);
    expect(await world.compute.list()).toEqual([]);
  });

  test("ends with the server, which leaves no program", async () => {
    const world = await flashboot();
    const worker = await frozenWorker(world);
    await world[Symbol.asyncDispose]();
    expect([worker.instance.exited, await world.compute.list(), await world.records()]).toEqual([true, [], []]);
  });

  test("that is killed is replaced by the next job's", async () => {
    await using world = await flashboot();
    await doneJob(world);
    await world.pass(12);
    world.running()[0]!.instance.exit({ signal: "SIGKILL" });
    await world.settle();
    expect(await world.records()).toEqual([]);
    const job = await world.submit();
    await world.settle();
    expect((await world.running()[0]!.take())?.id).toBe(job);
  });
});

describe("room", () => {
  const gpus = [{ type: "NVIDIA A40", count: 1, virtual: false }];
  const gpu = { id: "NVIDIA A40" };

  /** A worker that has the machine's only GPU and all of its memory, and that uses this much of it. */
  async function largeWorker(heldMb: number, machine: object = {}): Promise<FleetWorld & { worker: Program }> {
    const capacity = { gpus, memoryMb: 32_768 };
    const world = await setupFleet({ machine: { capacity, ...machine }, endpoint: { ...FLASHBOOT, gpu } });
    await doneJob(world);
    const worker = world.running()[0]!;
    worker.instance.uses = { memoryBytes: heldMb * 1_048_576 };
    await world.pass(4);
    return Object.assign(world, { worker });
  }

  test("is counted by what a frozen worker holds: one that was given all memory of its machine stays, with its GPU", async () => {
    await using world = await largeWorker(3072);
    const { worker } = world;
    expect(worker.instance.spec.limits.memoryMb).toBeGreaterThan(16_384);
    expect(await world.record(worker.id)).toMatchObject({ state: "FROZEN", heldMb: 3072, gpuCount: 1 });
    await world.pass(60);
    expect([stateOf(worker), world.started.length]).toEqual(["frozen", 1]);
    const job = await world.submit();
    await world.settle();
    expect([stateOf(worker), (await worker.take())?.id]).toEqual(["running", job]);
  });

  test("is not kept for a worker that holds more than it may once it stands still, and its log says how much", async () => {
    await using world = await largeWorker(16_385);
    expect(await world.compute.list()).toEqual([]);
    const reason = "it holds 16385 MB, and frozen workers may hold 16384 MB together";
    expect(await world.log(world.worker.id)).toEqual(expect.arrayContaining(["[frozen]", `[ending: ${reason}]`]));
  });

  test("is counted by what a worker was given where nobody can tell what it holds", async () => {
    await using world = await largeWorker(3072, { can: { stats: false } });
    expect(await world.compute.list()).toEqual([]);
  });

  test("is made by a frozen worker for one that a job needs, and 'no capacity' is never the reason", async () => {
    await using world = await setupFleet({ machine: { capacity: { gpus } }, endpoint: { ...FLASHBOOT, gpu } });
    const frozen = await frozenWorker(world);
    const other = { name: "other", image: "host:/other", gpu };
    const { id } = (await world.call("POST", "/v2/serverless", { body: other })).json;
    frozen.instance.onAsk = () => {};
    const job = (await world.call("POST", `/v2/${id}/run`, { body: { input: {} } })).json.id;
    await world.settle();
    const { waitReason } = (await world.call("GET", `/v2/${id}/status/${job}`)).json;
    expect(waitReason).toBe("making room: an idle worker is ending");
    frozen.instance.exit({ code: 0 });
    await world.settle();
    expect((await world.running()[0]!.take())?.id).toBe(job);
    expect(await world.log(frozen.id)).toContain("[ending: another worker needs its room]");
  });

  test("for more frozen workers than memory allows is made by the one frozen first, not by one with priority", async () => {
    const large = { workers: { idleTimeout: 2 }, image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    await using world = await setupFleet({
      endpoint: { ...large, flashboot: "PRIORITY_FLASHBOOT" },
      frozenMb: 8192,
    });
    const endpoints = [world.endpoint];
    for (const name of ["two", "three"]) {
      const body = { ...large, name, flashboot: "FLASHBOOT" };
      endpoints.push((await world.call("POST", "/v2/serverless", { body })).json.id);
    }
    for (const endpoint of endpoints) {
      await world.call("POST", `/v2/${endpoint}/run`, { body: { input: {} } });
      await world.settle();
      const worker = world.running().find(({ env }) => env.RUNPOD_ENDPOINT_ID === endpoint)!;
      worker.instance.uses = { memoryBytes: 4096 * 1_048_576 };
      await worker.done((await worker.take())!.id);
      await world.pass(4);
    }
    const left = world.running().map((worker) => [worker.env.RUNPOD_ENDPOINT_ID, stateOf(worker)]);
    expect(left).toEqual([
      [endpoints[0], "frozen"],
      [endpoints[2], "frozen"],
    ]);
  });
});

describe("after a crash of the server", () => {
  test("a frozen worker is still frozen, and takes the next job", async () => {
    const before = await flashboot();
    const worker = await frozenWorker(before);
    await using world = await before.crash();
    await world.pass(30);
    expect([stateOf(worker), (await world.record(worker.id))?.state]).toEqual(["frozen", "FROZEN"]);
    const job = await world.submit();
    await world.settle();
    const [again] = world.running();
    expect([again!.id, (await again!.take())?.id]).toEqual([worker.id, job]);
  });

  test("a worker that was thawed before that was on record goes on with its job", async () => {
    const before = await flashboot();
    const worker = await frozenWorker(before);
    const job = await before.submit();
    await before.abandon();
    await before.compute.freezing!.thaw(worker.id);
    const [item] = await before.services.workerRecords.all();
    if (item!.doc.state === "READY") await before.services.workerRecords.move(item!, "freeze");
    await using world = await before.crash();
    const [again] = world.running();
    expect([stateOf(worker), (await world.record(worker.id))?.state]).toEqual(["running", "READY"]);
    expect((await again!.take())?.id).toBe(job);
    await world.pass(20);
    expect(stateOf(worker)).toBe("running");
  });

  test("a worker that its record calls ready and that stands still is thawed", async () => {
    const before = await flashboot();
    await doneJob(before);
    const [worker] = before.running();
    await before.abandon();
    await before.compute.freezing!.freeze(worker!.id);
    await using world = await before.crash();
    await world.settle();
    await world.pass(1);
    expect(stateOf(worker!)).toBe("running");
  });
});
