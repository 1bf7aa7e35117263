/** The history of metrics as a caller reads it: of an endpoint with jobs and workers, of a Pod, and of the account. */
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../tests/fleet-world.ts";
import { CPU_POD } from "../../../tests/pod-world.ts";
import { tiers } from "./model.ts";

type Column = (number | null)[];
const sum = (column: Column) => column.reduce((total: number, value) => total + (value ?? 0), 0);
const most = (column: Column) => Math.max(...column.map((value) => value ?? 0));
const known = (column: Column) => column.filter((value) => value !== null);

const historyOf = async (world: FleetWorld, path: string, query = "") =>
  (await world.call("GET", `/v2/${path}/metrics/history${query}`)).json;

/** Pods run there too. */
const workerIn = (world: FleetWorld) => world.running().find(({ env }) => env.RUNPOD_ENDPOINT_ID === world.endpoint);

/** A job that waited for 20 s and took 5 s, and one that failed. */
async function work(world: FleetWorld): Promise<void> {
  const [good, bad] = [await world.submit(), await world.submit()];
  await world.pass(20);
  const worker = workerIn(world);
  for (const [job, body] of [
    [good, { output: 1 }],
    [bad, { error: "no" }],
  ] as const) {
    expect((await worker!.take())?.id).toBe(job);
    await world.pass(5);
    await worker!.done(job, body);
  }
  await world.pass(21);
}

test("an endpoint shows its queue, its workers, what became of its jobs and how long they took", async () => {
  await using world = await setupFleet();
  await work(world);
  const { range, start, end, step, series } = await historyOf(world, `serverless/${world.endpoint}`);
  expect([range, step, Date.parse(end) - Date.parse(start)]).toEqual(["1h", 10, 3_600_000]);
  expect(Date.parse(end)).toBeGreaterThan(world.clock.now());
  for (const column of Object.values(series)) expect(column).toHaveLength(360);
  expect([sum(series.jobsCompleted), sum(series.jobsFailed)]).toEqual([1, 1]);
  expect([most(series.jobsInQueue), most(series.jobsInQueueMost), most(series.jobsInProgress)]).toEqual([2, 2, 1]);
  expect(most(series.workersRunning)).toBe(1);
  expect(known(series.executionP50).every((ms) => Math.abs(ms! - 5000) < 500)).toBe(true);
  expect(most(series.delayP95)).toBeGreaterThan(18_000);
  expect(series.jobsInQueue[0]).toBeNull();
});

test("every range has its points, and what was counted is in each", async () => {
  await using world = await setupFleet();
  await work(world);
  for (const { range, points, stepMs } of tiers) {
    const { step, series } = await historyOf(world, `serverless/${world.endpoint}`, `?range=${range}`);
    expect([step * 1000, series.jobsCompleted.length, sum(series.jobsCompleted)]).toEqual([stepMs, points, 1]);
  }
});

test("the end of the range can be chosen, and what is to come is unknown", async () => {
  await using world = await setupFleet();
  await work(world);
  const earlier = new Date(world.clock.now() - 3_600_000).toISOString();
  const past = await historyOf(world, `serverless/${world.endpoint}`, `?end=${earlier}`);
  expect(known(past.series.jobsCompleted)).toEqual([]);
  const later = await historyOf(world, `serverless/${world.endpoint}`, "?end=2099-01-01T00:00:00Z");
  expect(sum(later.series.jobsCompleted)).toBe(1);
  const { status, json } = await world.call("GET", "/v2/account/metrics/history?range=2h");
  expect([status, json.errors]).toEqual([422, [expect.stringContaining("range")]]);
});

test("workers and Pods show what they use, where their driver tells it", async () => {
  await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  const { id } = (await world.call("POST", "/v2/pods", { body: CPU_POD })).json;
  await world.submit();
  await world.pass(5);
  await workerIn(world)!.take();
  const GB = 1024 ** 3;
  for (const instance of world.started.map((one) => world.compute.instance(one)))
    instance.uses = { memoryBytes: GB, memoryLimitBytes: 4 * GB };
  await world.pass(45);
  const pod = await historyOf(world, `pods/${id}`);
  expect(Object.keys(pod.series)).toEqual(["cpu", "memory", "gpu", "gpuMemory"]);
  expect(known(pod.series.memory).at(-1)).toBe(25);
  expect(known(pod.series.gpu)).toEqual([]);
  const endpoint = await historyOf(world, `serverless/${world.endpoint}`);
  expect(known(endpoint.series.memory).at(-1)).toBe(25);
  await world.call("POST", `/v2/pods/${id}/action`, { body: { action: "stop" } });
  await world.pass(40);
  expect((await historyOf(world, `pods/${id}`)).series.memory.at(-1)).toBeNull();
});

test("an account shows what it costs by the hour, what runs, and the jobs of all its endpoints", async () => {
  await using world = await setupFleet();
  await world.call("POST", "/v2/pods", { body: CPU_POD });
  await work(world);
  await world.pass(60);
  const { series } = await historyOf(world, "account");
  const rates = await world.services.costs.perHour(world.owner.account);
  const meant = (rates.compute + rates.localStorage + rates.networkStorage) / 1e9;
  expect(meant).toBeGreaterThan(0);
  expect(series.spendPerHour.at(-1)).toBeCloseTo(meant, 5);
  // A worker that ended is seen at the next sample.
  expect(new Set(known(series.spendPerHour)).size).toBeGreaterThan(1);
  expect([most(series.podsRunning), most(series.workersRunning)]).toEqual([1, 1]);
  expect([sum(series.jobsCompleted), sum(series.jobsFailed)]).toEqual([1, 1]);
});

test("a restart goes on with what was kept, and a job is counted once", async () => {
  const before = await setupFleet();
  await work(before);
  await before.pass(60);
  await using world = await before.crash();
  await world.pass(30);
  for (const range of ["1h", "24h", "7d", "30d"]) {
    const { series } = await historyOf(world, `serverless/${world.endpoint}`, `?range=${range}`);
    expect([range, sum(series.jobsCompleted), sum(series.jobsFailed)]).toEqual([range, 1, 1]);
  }
});

test("a narrowed key sees its own endpoint alone, and a stranger nothing", async () => {
  await using world = await setupFleet();
  const narrowed = await world.newKey({ endpoints: [world.endpoint] });
  const path = `/v2/serverless/${world.endpoint}/metrics/history`;
  expect((await world.call("GET", path, { key: narrowed })).status).toBe(200);
  expect((await world.call("GET", "/v2/account/metrics/history", { key: narrowed })).status).toBe(403);
  expect((await world.call("GET", path, { key: await world.strangersKey() })).status).toBe(404);
});

test("a deleted endpoint and a deleted Pod take their series with them", async () => {
  await using world = await setupFleet();
  const { id } = (await world.call("POST", "/v2/pods", { body: CPU_POD })).json;
  await work(world);
  await world.pass(120);
  const kept = async () => {
    const all = await world.store.list({ kind: "metrics-series", limit: 1000 });
    return new Set(all.map(({ doc }) => doc.of));
  };
  expect(await kept()).toContain(`e.${world.endpoint}`);
  await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
  await world.call("DELETE", `/v2/pods/${id}`);
  await world.pass(180);
  expect(await kept()).toEqual(new Set([`a.${world.owner.account}`]));
});
