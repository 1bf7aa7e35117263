/** Workers that run but take no work: what is shown of them, what their jobs report, and what happens to them. */
import { describe, expect, test } from "vitest";
import { type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";

const ONE = { workers: { min: 1, max: 1 } };

async function shown(world: FleetWorld): Promise<{ id: string; status: string; reason: string | null }[]> {
  return (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json.workers;
}

/** A worker that has taken a job, of an endpoint that may have no other worker. */
async function busyWorker(world: FleetWorld, rest?: object): Promise<{ worker: Program; job: string }> {
  const job = await world.submit(rest);
  await world.settle();
  const worker = world.running()[0]!;
  await worker.take();
  return { worker, job };
}

const cancel = (world: FleetWorld, job: string) => world.call("POST", `/v2/${world.endpoint}/cancel/${job}`);

describe("a worker that is still at a job which is no longer its own", () => {
  test("is RUNNING and not ready, and whoever waits is told what it is at", async () => {
    await using world = await setupFleet({ endpoint: ONE });
    const { worker, job } = await busyWorker(world);
    await cancel(world, job);
    const waiting = await world.submit();
    await world.pass(1);
    const reason = "1 worker still busy with a cancelled job";
    expect([(await world.status(waiting)).waitReason, (await world.health()).waitReason]).toEqual([reason, reason]);
    expect(await shown(world)).toMatchObject([{ id: worker.id, status: "RUNNING", reason: reason.slice(9) }]);
    expect((await world.health()).workers).toMatchObject({ running: 1, idle: 0, ready: 0 });
  });

  test.each(["cancel", "time-out"])("is never called idle after a %s, from the first moment on", async (how) => {
    await using world = await setupFleet({ endpoint: ONE });
    const { job } = await busyWorker(world, how === "time-out" ? { policy: { executionTimeout: 5000 } } : {});
    const waiting = await world.submit();
    if (how === "cancel") await cancel(world, job);
    while (how === "time-out" && (await world.status(job)).status !== "TIMED_OUT") await world.clock.advance(100);
    for (let second = 0; second < 9; second++) {
      const { waitReason } = await world.status(waiting);
      const { workers } = await world.health();
      expect([second, waitReason]).toEqual([second, expect.stringMatching(/^1 worker still busy with a /)]);
      expect([second, workers]).toMatchObject([second, { running: 1, idle: 0, ready: 0 }]);
      await world.pass(1);
    }
  });

  test("is said to be at a job that timed out where that is so", async () => {
    await using world = await setupFleet({ endpoint: ONE });
    const { worker } = await busyWorker(world, { policy: { executionTimeout: 5000 } });
    await world.pass(4);
    await worker.ping();
    const waiting = await world.submit();
    await world.pass(3);
    expect((await world.status(waiting)).waitReason).toBe("1 worker still busy with a job that timed out");
  });

  test("is ended after 10 s and replaced, however seldom it pings", async () => {
    await using world = await setupFleet({ endpoint: ONE });
    const { worker, job } = await busyWorker(world);
    await cancel(world, job);
    const waiting = await world.submit();
    await world.pass(10);
    expect(worker.instance.exited).toBe(false);
    await world.pass(1);
    expect(worker.instance.exited).toBe(true);
    expect(await world.log(worker.id)).toContain("[ending: still busy with a cancelled job after 10 s]");
    expect((await world.running()[0]!.take())?.id).toBe(waiting);
  });

  test("is left alone when it has another job, and when it stopped and asks for the next", async () => {
    await using world = await setupFleet({ endpoint: ONE });
    const { worker, job } = await busyWorker(world);
    const other = await world.submit();
    expect((await worker.take())?.id).toBe(other);
    await cancel(world, job);
    await world.pass(9);
    await worker.ping([other]);
    await world.pass(5);
    await worker.done(other);
    const asked = worker.take();
    await world.pass(14);
    expect([worker.instance.exited, (await shown(world))[0]]).toMatchObject([false, { status: "IDLE", reason: null }]);
    const next = await world.submit();
    expect((await asked)?.id).toBe(next);
  });

  test("is no longer held up once its ping leaves the job out, or once it reports it after all", async () => {
    await using world = await setupFleet({ endpoint: { workers: { min: 2, max: 2 } } });
    await world.settle();
    const jobs = [await world.submit(), await world.submit()];
    const [one, two] = world.running();
    await one!.take();
    await two!.take();
    for (const job of jobs) await cancel(world, job);
    await world.pass(2);
    expect((await world.health()).workers).toMatchObject({ running: 2, ready: 0 });
    await one!.ask("GET job-stop");
    await one!.ping();
    await two!.done(jobs[1]!);
    await world.pass(1);
    expect((await world.health()).workers).toMatchObject({ running: 0, ready: 2 });
  });

  test("is not idle, however long ago it took the job, and is neither frozen nor let go for that", async () => {
    await using world = await setupFleet({ endpoint: { workers: { max: 1, idleTimeout: 1 }, flashboot: "FLASHBOOT" } });
    const { worker, job } = await busyWorker(world);
    for (let i = 0; i < 3; i++) {
      await world.pass(10);
      await worker.ping([job]);
    }
    await cancel(world, job);
    await world.pass(9);
    expect([(await world.record(worker.id))?.state, worker.instance.exited]).toEqual(["READY", false]);
  });

  test("is no reason to wait where another may be started", async () => {
    await using world = await setupFleet({ endpoint: { workers: { max: 2 } } });
    const { job } = await busyWorker(world);
    await cancel(world, job);
    await world.pass(1);
    const waiting = await world.submit();
    await world.pass(2);
    expect((await world.running()[1]!.take())?.id).toBe(waiting);
  });

  test("is counted on for as long as it takes to stop and ask again: no other is started for that", async () => {
    await using world = await setupFleet({ endpoint: { workers: { max: 2 } } });
    const { worker, job } = await busyWorker(world);
    await cancel(world, job);
    await world.pass(1);
    const waiting = await world.submit();
    await world.pass(1);
    expect((await worker.take())?.id).toBe(waiting);
    expect(world.running()).toHaveLength(1);
  });
});

describe("a worker whose handler asked for a fresh one", () => {
  test("is not ready, and a job that waits for its place is told so", async () => {
    await using world = await setupFleet({ endpoint: ONE });
    const { worker, job } = await busyWorker(world);
    const other = await world.submit();
    await worker.take();
    await worker.done(job, { output: 1, stopPod: true });
    const waiting = await world.submit();
    await world.pass(1);
    expect((await world.status(waiting)).waitReason).toBe(
      "1 worker is being replaced (its handler asked for a fresh worker)",
    );
    expect((await world.health()).workers).toMatchObject({ running: 1, ready: 0 });
    await worker.done(other);
    await world.pass(1);
    expect((await world.running()[0]!.take())?.id).toBe(waiting);
  });

  test("is not shown as ready either while it ends and has no job left", async () => {
    await using world = await setupFleet({ endpoint: ONE });
    const { worker, job } = await busyWorker(world);
    world.compute.hangsOnStop = true;
    await worker.done(job, { output: 1, stopPod: true });
    const waiting = await world.submit();
    await world.pass(1);
    expect((await world.status(waiting)).waitReason).toBe(
      "1 worker is being replaced (its handler asked for a fresh worker)",
    );
    expect((await world.health()).workers).toMatchObject({ running: 1, idle: 0, ready: 0 });
    world.compute.hangsOnStop = false;
  });
});
