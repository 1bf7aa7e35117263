/** The workers of an endpoint: their status, their counts, and who may see them. */

import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs } from "../../../tests/job-world.ts";
import { type GivenWorker, putWorker, workerDoc } from "../../../tests/worker-doc.ts";
import { because, saying } from "../../kernel/reason.ts";
import type { WorkerState } from "./model.ts";

async function put(world: JobWorld, id: string, given: GivenWorker = {}): Promise<void> {
  await putWorker(world.services.workerRecords, {
    ...{ id, account: world.owner.account, createdAt: world.clock.now() },
    doc: workerDoc({
      ...{ owner: world.endpoint, state: "READY", machine: "m1", vcpu: 2, memoryMb: 4096 },
      startedAt: world.clock.now(),
      ...given,
    }),
  });
}

const list = (world: JobWorld, options?: { key?: string }) =>
  world.call("GET", `/v2/serverless/${world.endpoint}/workers`, options);

/** The status of each worker by its id. */
async function statuses(world: JobWorld): Promise<Record<string, string>> {
  const { workers } = (await list(world)).json as { workers: { id: string; status: string }[] };
  return Object.fromEntries(workers.map(({ id, status }) => [id, status]));
}

test("an endpoint without workers has an empty list and zeros", async () => {
  await using world = await setupJobs();
  expect((await list(world)).json).toEqual({
    workers: [],
    summary: { running: 0, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 0 },
    endpointVersion: 1,
  });
});

test("a worker shows what it runs on, since when, and why", async () => {
  await using world = await setupJobs();
  const reason = "exit 7, last lines: no such model";
  await put(world, "w1", {
    state: "FAILED",
    gpuType: "NVIDIA L4",
    gpuCount: 2,
    reason: saying("program-ended", reason),
  });
  await world.clock.advance(61_500);
  expect((await list(world)).json.workers).toEqual([
    {
      ...{ id: "w1", status: "UNHEALTHY", isStale: false, version: 1, image: "host:/app" },
      ...{ gpuCount: 2, gpuTypeId: "NVIDIA L4", dataCenterId: null, reason, reasonCode: "program-ended", actions: [] },
      ...{ uptimeSeconds: 61, startedAt: "2026-01-01T00:00:00.000Z" },
    },
  ]);
});

const shown: [WorkerState, string | undefined][] = [
  ["WANTED", "THROTTLED"],
  ["PLACED", "INITIALIZING"],
  ["STARTING", "INITIALIZING"],
  ["READY", "IDLE"],
  ["FROZEN", "IDLE"],
  ["DRAINING", "RUNNING"],
  ["FAILED", "UNHEALTHY"],
  ["GONE", undefined],
];

test.each(shown)("a worker that is %s is shown as %s", async (state, status) => {
  await using world = await setupJobs();
  await put(world, "w1", { state });
  expect((await statuses(world)).w1).toBe(status);
});

test("one that is frozen is told from others that are idle, and is not ready", async () => {
  await using world = await setupJobs();
  await put(world, "still", { state: "FROZEN", reason: because("idle", { seconds: 5 }) });
  await put(world, "asks");
  const { workers } = (await list(world)).json as { workers: { id: string; frozen?: boolean }[] };
  expect(Object.fromEntries(workers.map(({ id, frozen }) => [id, frozen]))).toEqual({ still: true, asks: undefined });
  expect((await world.invoke("GET", "/metrics")).json).toMatchObject({
    workers: { idle: 2, ready: 1 },
    readyWorkers: ["asks"],
  });
});

test("one that has not started has no start and no uptime", async () => {
  await using world = await setupJobs();
  await put(world, "w1", { state: "WANTED", machine: null, startedAt: null });
  expect((await list(world)).json.workers[0]).toMatchObject({ startedAt: null, uptimeSeconds: null });
});

test("one of an earlier release is stale", async () => {
  await using world = await setupJobs();
  await put(world, "w1");
  await world.call("PATCH", `/v2/serverless/${world.endpoint}`, { body: { env: { A: "1" } } });
  await put(world, "w2", { release: 2 });
  const { workers, endpointVersion } = (await list(world)).json;
  const stale = workers.map(({ id, isStale, version }: Record<string, unknown>) => [id, isStale, version]);
  expect([endpointVersion, stale.toSorted()]).toEqual([
    2,
    [
      ["w1", true, 1],
      ["w2", false, 2],
    ],
  ]);
});

describe("with jobs", () => {
  test("a worker is RUNNING while it holds one and IDLE again afterwards", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    await put(world, worker.id);
    const job = await world.begun(worker);
    expect(await statuses(world)).toEqual({ [worker.id]: "RUNNING" });
    await worker.done(job, { output: 1 });
    expect(await statuses(world)).toEqual({ [worker.id]: "IDLE" });
  });

  test("a worker started by hand counts while it is connected, and is of no release", async () => {
    await using world = await setupJobs();
    await put(world, "made");
    const worker = await world.worker();
    await world.begun(worker);
    const { workers, summary } = (await list(world)).json;
    expect(workers[1]).toMatchObject({ id: worker.id, status: "RUNNING", version: null, isStale: false, image: null });
    expect(summary).toMatchObject({ running: 1, idle: 1, total: 2 });
    await world.clock.advance(60_000);
    expect(await statuses(world)).toEqual({ made: "IDLE" });
  });
});

test("the list, /health and /metrics agree", async () => {
  await using world = await setupJobs();
  const states: WorkerState[] = [
    ...(["WANTED", "PLACED", "STARTING", "READY", "READY", "FAILED", "FAILED", "GONE"] as const),
    "FROZEN",
  ];
  for (const [i, state] of states.entries()) await put(world, `w${i}`, { state });
  const worker = await world.worker();
  await world.begun(worker);
  const counts = { running: 1, idle: 3, initializing: 2, throttled: 1, unhealthy: 0 };
  expect((await list(world)).json.summary).toEqual({ ...counts, total: 7 });
  expect((await world.invoke("GET", "/health")).json.workers).toEqual({ ...counts, ready: 2 });
  const metrics = (await world.invoke("GET", "/metrics")).json;
  expect(metrics.workers).toEqual({ ...counts, ready: 2 });
  expect(metrics.readyWorkers.toSorted()).toEqual(["w3", "w4"]);
});

test("a busy worker is not among the ready ones, in number and by name", async () => {
  await using world = await setupJobs();
  await world.begun(await world.worker());
  const { workers, readyWorkers } = (await world.invoke("GET", "/metrics")).json;
  expect([workers.running, workers.ready, readyWorkers]).toEqual([1, 0, []]);
});

describe("boots that have ended", () => {
  test("are not listed beside those that run or are on their way", async () => {
    await using world = await setupJobs();
    await put(world, "dead", { state: "FAILED", failedAt: 1, reason: saying("program-ended", "exit 7") });
    await put(world, "next", { state: "STARTING" });
    expect(await statuses(world)).toEqual({ next: "INITIALIZING" });
  });

  test("are one while nothing else is there: the newest, with its reason", async () => {
    await using world = await setupJobs();
    for (const [i, failedAt] of [2, 3, 1].entries())
      await put(world, `w${i}`, { state: "FAILED", failedAt, reason: saying("program-ended", `exit ${failedAt}`) });
    const { workers, summary } = (await list(world)).json;
    expect(workers).toMatchObject([{ id: "w1", status: "UNHEALTHY", reason: "exit 3" }]);
    expect(summary).toMatchObject({ unhealthy: 1, total: 1 });
  });
});

test("workers of other endpoints are not shown", async () => {
  await using world = await setupJobs();
  await put(world, "w1", { owner: "another" });
  expect((await list(world)).json.workers).toEqual([]);
});

test("an endpoint that is unknown or another account's has no workers to show", async () => {
  await using world = await setupJobs();
  await put(world, "w1");
  expect((await list(world, { key: await world.strangersKey() })).status).toBe(404);
  expect((await world.call("GET", "/v2/serverless/aaaaaaaaaaaaaa/workers")).status).toBe(404);
});
