/** Workers that were heard of and are silent now: what is shown of them, what waits for them, and what happens to them. */
import { describe, expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { setupJobs } from "../../../../tests/job-world.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";

const ONE = { workers: { min: 1, max: 1 } };
const SILENT_S = 16;

async function shown(world: FleetWorld): Promise<{ id: string; status: string; reason: string | null }[]> {
  return (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json.workers;
}

async function withWorker(endpoint: object = ONE) {
  const world = await setupFleet({ endpoint });
  await world.settle();
  const worker = world.running()[0]!;
  await worker.ping();
  const heardAt = new Date(world.clock.now()).toISOString();
  return { world, worker, heardAt, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

describe("a worker that was heard of and is silent now", () => {
  test("is UNHEALTHY with the reason and not ready, and a job that waits for it is told", async () => {
    await using at = await withWorker();
    const { world, worker, heardAt } = at;
    const job = await world.submit();
    await world.pass(SILENT_S);
    const reason = `silent for 16 s (last heard of ${heardAt})`;
    expect(await shown(world)).toMatchObject([
      { id: worker.id, status: "UNHEALTHY", reason, reasonCode: "worker-silent" },
    ]);
    const { workers, waitReason } = await world.health();
    expect(workers).toMatchObject({ idle: 0, ready: 0, running: 0, unhealthy: 1 });
    expect([waitReason, (await world.status(job)).waitReason]).toEqual([`1 worker ${reason}`, `1 worker ${reason}`]);
    expect((await world.call("GET", `/v2/${world.endpoint}/metrics`)).json.readyWorkers).toEqual([]);
  });

  test("is so too when it has a job, and after the job was taken from it", async () => {
    await using at = await withWorker();
    const { world, worker, heardAt } = at;
    const job = await world.submit();
    await worker.take();
    await world.pass(SILENT_S);
    expect(await shown(world)).toMatchObject([{ status: "UNHEALTHY" }]);
    await world.pass(30);
    expect(await shown(world)).toMatchObject([
      { status: "UNHEALTHY", reason: `silent for 46 s (last heard of ${heardAt})` },
    ]);
    expect((await world.status(job)).waitReason).toContain("1 worker silent for 46 s");
  });

  test("is well again as soon as it is heard of", async () => {
    await using at = await withWorker();
    const { world, worker } = at;
    await world.pass(40);
    await worker.ping();
    await world.pass(1);
    expect(await shown(world)).toMatchObject([{ id: worker.id, status: "IDLE", reason: null }]);
    const job = await world.submit();
    expect((await worker.take())?.id).toBe(job);
  });

  test("is not counted on: where another is allowed it is started", async () => {
    await using at = await withWorker({ workers: { max: 2, min: 1, idleTimeout: 600 } });
    const { world } = at;
    await world.pass(SILENT_S);
    const job = await world.submit();
    await world.pass(1);
    expect((await world.running()[1]!.take())?.id).toBe(job);
  });

  test("is ended after a minute of it, and replaced", async () => {
    await using at = await withWorker();
    const { world, worker } = at;
    await world.pass(58);
    expect(worker.instance.exited).toBe(false);
    await world.pass(3);
    expect([worker.instance.exited, world.running().length]).toEqual([true, 1]);
    expect(await world.log(worker.id)).toContain("[failed: silent for 60 s]");
  });

  test("is not judged by the time in which no server was there to hear it", async () => {
    await using at = await withWorker();
    await at.world.pass(20);
    await using again = await at.world.crash();
    await again.pass(10);
    const [worker] = again.running();
    await worker!.ping();
    await again.pass(1);
    expect(await shown(again)).toMatchObject([{ id: worker!.id, status: "IDLE" }]);
  });
});

describe("a sign of life", () => {
  test("is a question that is open, however seldom the worker pings", async () => {
    await using at = await withWorker();
    const { world, worker } = at;
    for (let i = 0; i < 3; i++) {
      const asked = worker.ask("POST job-exchange", { query: "&wait=60000" });
      await world.settle();
      for (let s = 0; s < 60; s++) {
        await world.pass(1);
        expect((await shown(world))[0]?.status).toBe("IDLE");
      }
      await asked;
    }
  });

  test("is not a question whose asker has hung up", async () => {
    await using at = await withWorker();
    const { world, worker } = at;
    const client = new AbortController();
    const asked = worker.ask("GET job-take", { signal: client.signal }).catch(() => undefined);
    await world.pass(5);
    client.abort();
    await asked;
    await world.pass(SILENT_S);
    expect((await shown(world))[0]?.status).toBe("UNHEALTHY");
  });
});

test("on another node it is shown and told alike", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  await using first = await setupFleet({ signals, endpoint: ONE, machine: { name: "first" } });
  await first.pass(1);
  await using second = await setupFleet({
    ...{ signals, store: first.store, found: first, endpoint: first.endpoint },
    machine: { name: "second" },
  });
  const [worker] = first.running();
  await worker!.ping();
  const job = await second.submit();
  for (let s = 0; s < SILENT_S + 1; s++) {
    await first.pass(1);
    await second.settle();
  }
  expect(await shown(second)).toMatchObject([{ id: worker!.id, status: "UNHEALTHY" }]);
  expect((await second.status(job)).waitReason).toMatch(/^1 worker silent for 1[67] s /);
  expect((await second.health()).workers).toMatchObject({ ready: 0, unhealthy: 1 });
});

test("a worker that was started by hand is shown as silent until it is lost, and jobs do not wait for it to ask", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  await worker.ping();
  const heardAt = new Date(world.clock.now()).toISOString();
  const job = await world.submit();
  await world.clock.advance(20_000);
  const reason = `silent for 20 s (last heard of ${heardAt})`;
  const list = async () => (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json.workers;
  expect(await list()).toMatchObject([{ id: worker.id, status: "UNHEALTHY", reason }]);
  expect((await world.status(job)).waitReason).toBe(`1 worker ${reason} (1 job in the queue)`);
  await world.clock.advance(11_000);
  expect(await list()).toEqual([]);
});

test("a worker that was started by hand and is at a cancelled job is RUNNING, and says so", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const job = await world.begun(worker);
  await world.invoke("POST", `/cancel/${job}`);
  const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
  expect(workers).toMatchObject([{ id: worker.id, status: "RUNNING", reason: "still busy with a cancelled job" }]);
});
