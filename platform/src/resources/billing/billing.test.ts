/** Billing histories: buckets, windows, filters, sums, and what is refused. */
import { describe, expect, test } from "vitest";
import { DAY, HOUR, nano, putSpan } from "../../../tests/billing-world.ts";
import { CLUSTER_GPUS, makeCluster } from "../../../tests/cluster-doc.ts";
import { setupPods } from "../../../tests/pod-world.ts";
import { setup as setupWorld, type World } from "../../../tests/world.ts";
import { gpuPrice } from "../../catalog/compute.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import type { KeptSpan } from "../../metering/span.ts";

/** This day is a Thursday. */
const T0 = Date.UTC(2026, 0, 1);
const at = (moment: number) => new Date(moment).toISOString();

async function setup() {
  const world = await setupWorld({ rateLimits: "off" });
  return {
    world,
    span: (given: Partial<KeptSpan>) => putSpan(world.store, world.owner.account, given),
    async bill(path = "", query: Record<string, string> = {}) {
      const { status, json } = await world.call("GET", `/v2/billing${path}?${new URLSearchParams(query)}`);
      return { status, json, ...json };
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const NOTHING = {
  podGpuAmount: 0,
  podCpuAmount: 0,
  podDiskAmount: 0,
  serverlessGpuAmount: 0,
  serverlessCpuAmount: 0,
  serverlessDiskAmount: 0,
  serverlessFeeAmount: 0,
  storageStandardAmount: 0,
  storageHighPerformanceAmount: 0,
  endpointAmount: 0,
  clusterGpuAmount: 0,
  clusterDiskAmount: 0,
  clusterNetworkingAmount: 0,
};

describe("the window", () => {
  test("is the last 30 days in days by default, from where the first began to where the last one ends", async () => {
    await using s = await setup();
    s.world.clock.jump(40 * DAY + 5 * HOUR);
    const { json } = await s.bill();
    expect(json).toEqual({
      records: [],
      metadata: {
        query: { startTime: at(T0 + 10 * DAY), endTime: at(T0 + 41 * DAY), bucketSize: "day" },
        recordCount: 0,
        totals: { totalAmount: 0, ...NOTHING },
      },
    });
  });

  test.each([
    ["hour", "2026-01-14T15:00:00.000Z", "2026-01-20T11:00:00.000Z"],
    ["day", "2026-01-14T00:00:00.000Z", "2026-01-21T00:00:00.000Z"],
    ["week", "2026-01-12T00:00:00.000Z", "2026-01-26T00:00:00.000Z"],
    ["month", "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"],
    ["year", "2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"],
  ])("is snapped to the %s", async (bucketSize, startTime, endTime) => {
    await using s = await setup();
    const asked = { startTime: "2026-01-14T17:30:00+02:00", endTime: "2026-01-20T10:00:00.001Z", bucketSize };
    expect((await s.bill("", asked)).metadata.query).toEqual({ startTime, endTime, bucketSize });
  });

  test("an end on a boundary stays there", async () => {
    await using s = await setup();
    const asked = { startTime: at(T0), endTime: at(T0 + DAY) };
    expect((await s.bill("", asked)).metadata.query).toMatchObject(asked);
  });

  test("lastN buckets end with the current one, which is not over", async () => {
    await using s = await setup();
    s.world.clock.jump(45 * DAY + HOUR);
    const asked = async (bucketSize: string) => (await s.bill("", { lastN: "2", bucketSize })).metadata.query;
    expect(await asked("hour")).toMatchObject({ startTime: at(T0 + 45 * DAY), endTime: at(T0 + 45 * DAY + 2 * HOUR) });
    expect(await asked("week")).toMatchObject({
      startTime: "2026-02-02T00:00:00.000Z",
      endTime: "2026-02-16T00:00:00.000Z",
    });
    expect(await asked("month")).toMatchObject({
      startTime: "2026-01-01T00:00:00.000Z",
      endTime: "2026-03-01T00:00:00.000Z",
    });
    expect(await asked("year")).toMatchObject({
      startTime: "2025-01-01T00:00:00.000Z",
      endTime: "2027-01-01T00:00:00.000Z",
    });
  });

  const over = "2026-01-01T00:00:00Z";
  test.each([
    ["lastN beside startTime", { lastN: "1", startTime: over }, 400, "'lastN' excludes 'startTime' and 'endTime'"],
    ["lastN beside endTime", { lastN: "1", endTime: over }, 400, "'lastN' excludes 'startTime' and 'endTime'"],
    ["an end before the start", { startTime: over, endTime: "2025-12-01T00:00:00Z" }, 400, "must be before 'endTime'"],
    ["nothing", { startTime: over, endTime: over }, 400, "must be before 'endTime'"],
    [
      "an end long ago, and no start",
      { endTime: "2020-01-01T00:00:00Z" },
      400,
      "Without 'startTime' it is 30 days ago",
    ],
    [
      "more hours than may be",
      { startTime: "2024-01-01T00:00:00Z", bucketSize: "hour" },
      400,
      "more than 10000 buckets",
    ],
    ["more of the last ones than may be", { lastN: "10001" }, 400, "more than 10000 buckets"],
    ["a time before all computers", { startTime: "0099-01-01T00:00:00Z" }, 400, "within the years 1970 to 9997"],
    ["no time", { startTime: "yesterday" }, 422, "$.startTime"],
    ["no bucket size", { bucketSize: "decade" }, 422, "$.bucketSize"],
    ["lastN of nothing", { lastN: "0" }, 422, "$.lastN"],
    ["half a lastN", { lastN: "1.5" }, 422, "$.lastN"],
    ["an empty id", { podId: "" }, 422, "$.podId"],
  ])("refuses %s", async (_, query, status, why) => {
    await using s = await setup();
    const answer = await s.bill("/pods", query);
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.json)).toContain(why);
  });
});

describe("records", () => {
  test("one for each Pod in each bucket that cost something, with the sum of its parts", async () => {
    await using s = await setup();
    await s.span({ owner: "a", from: T0 + 22 * HOUR, to: T0 + 25 * HOUR });
    const price = { gpu: 0, cpu: 500_000_000, disk: 0, storage: 730_000_000_000 };
    await s.span({ owner: "b", from: T0 + 3 * DAY, to: T0 + 3 * DAY + HOUR, price });
    await s.span({ owner: "c", from: T0, to: T0 + DAY, free: "frozen" });
    s.world.clock.jump(10 * DAY);
    const { records, metadata } = await s.bill("/pods", { startTime: at(T0) });
    const bucket = (day: number) => ({ startTime: at(T0 + day * DAY), endTime: at(T0 + (day + 1) * DAY) });
    expect(records).toEqual([
      { podId: "a", ...bucket(0), totalAmount: 2, gpuAmount: 2, cpuAmount: 0, diskAmount: 0 },
      { podId: "a", ...bucket(1), totalAmount: 1, gpuAmount: 1, cpuAmount: 0, diskAmount: 0 },
      { podId: "b", ...bucket(3), totalAmount: 1.5, gpuAmount: 0, cpuAmount: 0.5, diskAmount: 1 },
    ]);
    expect(metadata).toMatchObject({
      recordCount: 3,
      totals: { totalAmount: 4.5, gpuAmount: 3, cpuAmount: 0.5, diskAmount: 1 },
      uniquePodCount: 2,
    });
  });

  test("each kind has its own history and its own amounts, and the sum of all is the whole", async () => {
    await using s = await setup();
    const [from, to] = [T0, T0 + HOUR];
    const price = { gpu: 1_000_000_000, cpu: 0, disk: 0, storage: 146_000_000_000 };
    const stored = { gpu: 0, cpu: 0, disk: 0, storage: 7_300_000_000 };
    await s.span({ kind: "pod", owner: "p", from, to, price });
    await s.span({ kind: "worker", owner: "e", from, to, price });
    await s.span({ kind: "member", owner: "c", from, to, price });
    await s.span({ kind: "volume", owner: "v", phase: "kept", tier: "STANDARD", from, to, price: stored });
    await s.span({ kind: "volume", owner: "h", phase: "kept", tier: "HIGH_PERFORMANCE", from, to, price: stored });
    s.world.clock.jump(DAY);
    const told = async (path: string) => {
      const { records, metadata } = await s.bill(path, { lastN: "2" });
      return {
        records: records.map(({ startTime: _, endTime: __, ...rest }: object & { startTime: 0; endTime: 0 }) => rest),
        ...metadata,
      };
    };
    const compute = { totalAmount: 1.2, gpuAmount: 1, diskAmount: 0.2 };
    expect(await told("/pods")).toMatchObject({
      records: [{ podId: "p", ...compute, cpuAmount: 0 }],
      uniquePodCount: 1,
    });
    expect(await told("/serverless")).toMatchObject({
      records: [{ serverlessId: "e", ...compute, cpuAmount: 0, feeAmount: 0 }],
      uniqueServerlessCount: 1,
    });
    expect(await told("/clusters")).toMatchObject({
      records: [{ clusterId: "c", ...compute, networkingAmount: 0 }],
      uniqueClusterCount: 1,
    });
    expect(await told("/network-volumes")).toMatchObject({
      records: [
        { networkVolumeId: "h", totalAmount: 0.01, standardAmount: 0, highPerformanceAmount: 0.01 },
        { networkVolumeId: "v", totalAmount: 0.01, standardAmount: 0.01, highPerformanceAmount: 0 },
      ],
      uniqueNetworkVolumeCount: 2,
    });
    expect(await told("/endpoints")).toMatchObject({ records: [], recordCount: 0, totals: { totalAmount: 0 } });
    const whole = {
      ...NOTHING,
      totalAmount: 3.62,
      ...{ podGpuAmount: 1, podDiskAmount: 0.2, serverlessGpuAmount: 1, serverlessDiskAmount: 0.2 },
      ...{
        storageStandardAmount: 0.01,
        storageHighPerformanceAmount: 0.01,
        clusterGpuAmount: 1,
        clusterDiskAmount: 0.2,
      },
    };
    expect(await told("")).toMatchObject({ records: [whole], totals: whole });
  });

  test.each([
    ["/pods", "podId", "pod"],
    ["/serverless", "serverlessId", "worker"],
    ["/network-volumes", "networkVolumeId", "volume"],
    ["/clusters", "clusterId", "member"],
  ] as const)("%s of one by its id, which is said again", async (path, filter, kind) => {
    await using s = await setup();
    await s.span({ kind, owner: "one", from: T0, to: T0 + HOUR });
    await s.span({ kind, owner: "other", from: T0, to: T0 + HOUR });
    s.world.clock.jump(HOUR);
    const { records, metadata } = await s.bill(path, { [filter]: "one" });
    expect(records).toMatchObject([{ [filter]: "one" }]);
    expect(metadata.query).toMatchObject({ [filter]: "one" });
    expect((await s.bill(path, { [filter]: "nobody" })).metadata).toMatchObject({ recordCount: 0 });
    expect((await s.bill(path)).metadata.query).not.toHaveProperty(filter);
  });

  test("what runs counts until now, and what is deleted stays", async () => {
    await using s = await setup();
    await s.span({ from: T0 });
    s.world.clock.jump(90 * 60_000);
    expect((await s.bill("/pods", { lastN: "1", bucketSize: "year" })).metadata.totals.gpuAmount).toBe(1.5);
  });

  test("nobody sees what another account paid", async () => {
    await using s = await setup();
    await putSpan(s.world.store, "another", { owner: "p", from: T0, to: T0 + HOUR });
    s.world.clock.jump(HOUR);
    expect((await s.bill()).records).toEqual([]);
    expect((await s.bill("/pods", { podId: "p" })).records).toEqual([]);
  });

  test("a billionth of a USD is not lost", async () => {
    await using s = await setup();
    await s.span({ from: T0, to: T0 + HOUR, price: { gpu: 999_999_123_456_789, cpu: 1, disk: 0, storage: 0 } });
    s.world.clock.jump(HOUR);
    expect((await s.bill("/pods")).records).toMatchObject([{ gpuAmount: 999_999.123456789, cpuAmount: 0.000000001 }]);
  });
});

describe("what runs", () => {
  test("members of a cluster are billed as the cluster, with their disks, and not as Pods", async () => {
    await using world = await setupPods({ machine: CLUSTER_GPUS });
    const cluster = await makeCluster(world);
    world.clock.jump(HOUR);
    const bill = async (path: string) => (await world.call("GET", `/v2/billing/${path}`)).json;
    const { records, metadata } = await bill("clusters");
    // The cluster has two members, each with one GPU and a disk at 0.10 USD per GB for 730 hours.
    const gpuAmount = 2 * gpuPrice.member("NVIDIA L4");
    expect(records).toMatchObject([{ clusterId: cluster, gpuAmount, networkingAmount: 0 }]);
    const disk = (await world.call("GET", `/v2/clusters/${cluster}/pods`)).json.pods[0].disk as number;
    expect(records[0].diskAmount).toBeCloseTo((2 * 0.1 * disk) / 730, 8);
    expect(metadata).toMatchObject({ uniqueClusterCount: 1 });
    expect((await bill("pods")).records).toEqual([]);
    await world.call("DELETE", `/v2/clusters/${cluster}`);
    expect((await bill(`clusters?clusterId=${cluster}`)).records).toMatchObject([{ gpuAmount }]);
  });
});

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());

test(`hours, days, weeks, months and the whole agree to the last digit, for all and for each (seed ${seed})`, async () => {
  await using s = await setup();
  const random = new SeededRandom(seed);
  for (let i = 0; i < 150; i++) {
    const from = T0 + random.below(100 * DAY);
    const to = random.chance(0.2) ? null : from + random.below(random.below(40 * DAY) + 1);
    const price = {
      gpu: random.below(5e9),
      cpu: random.below(1e9),
      disk: random.below(1e6),
      storage: random.below(1e12),
    };
    await s.span({ kind: random.pick(["pod", "worker", "member"]), owner: `o${random.below(5)}`, from, to, price });
  }
  s.world.clock.jump(120 * DAY + 12_345);
  const window = { startTime: at(T0), endTime: at(Date.UTC(2027, 0, 1)) };
  const sums = async (path: string, bucketSize: string) => {
    const { records, metadata } = await s.bill(path, { ...window, bucketSize });
    const sum = records.reduce((sum: bigint, { totalAmount }: { totalAmount: number }) => sum + nano(totalAmount), 0n);
    expect(nano(metadata.totals.totalAmount)).toBe(sum);
    return sum as bigint;
  };
  const whole = await sums("", "year");
  expect(whole).toBeGreaterThan(0n);
  for (const size of ["hour", "day", "week", "month"]) expect(await sums("", size)).toBe(whole);
  let parts = 0n;
  for (const path of ["/pods", "/serverless", "/endpoints", "/network-volumes", "/clusters"]) {
    const [day, month] = [await sums(path, "day"), await sums(path, "month")];
    expect(day).toBe(month);
    parts += day;
  }
  expect(parts).toBe(whole);
  expect(await s.world.services.costs.ofAccount(s.world.owner.account, { from: T0, to: Date.UTC(2027, 0, 1) })).toBe(
    whole,
  );
});

describe("bounds", () => {
  const day = async ({ world }: { world: World }, pods: number, spans: number) => {
    for (let i = 0; i < spans; i++)
      await putSpan(world.store, world.owner.account, { owner: `p${i % pods}`, from: T0, to: null });
  };

  test("no answer has more than 32,000 records: it says so, and what to do", async () => {
    await using s = await setup();
    await day(s, 60, 60);
    s.world.clock.jump(30 * DAY);
    const { status, json } = await s.bill("/pods", { bucketSize: "hour" });
    expect(status).toBe(400);
    expect(json.detail).toBe(
      "No answer has more than 32000 records. Ask for a shorter time, for larger buckets, or for one thing by its id.",
    );
    expect((await s.bill("/pods", { bucketSize: "hour", podId: "p1" })).metadata.recordCount).toBe(720);
  });
});
