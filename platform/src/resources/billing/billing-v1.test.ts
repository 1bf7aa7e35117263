/** Billing through REST v1: plain lists, grouped and filtered. */
import { describe, expect, test } from "vitest";
import { DAY, HOUR, putSpan } from "../../../tests/billing-world.ts";
import { setup } from "../../../tests/world.ts";
import type { KeptSpan } from "../../metering/span.ts";

const T0 = Date.UTC(2026, 0, 1);
const at = (moment: number) => new Date(moment).toISOString();
/** Everything that is stored costs one USD per hour together. */
const STORED = { price: { gpu: 0, cpu: 0, disk: 1_000_000_000, storage: 0 } };

async function world() {
  const base = await setup({ rateLimits: "off" });
  base.clock.jump(2 * DAY);
  return {
    ...base,
    span: (given: Partial<KeptSpan>) => putSpan(base.store, base.owner.account, { from: T0, to: T0 + HOUR, ...given }),
    bill: async (path: string) => (await base.call("GET", `/v1/billing/${path}`)).json,
  };
}

/** The disk in both spellings that clients read: that of the contract, and that of live answers. */
const disk = (gb: number) => ({ diskSpaceBilledGb: gb, diskSpaceBilledGB: gb });

describe("Pods", () => {
  test("by GPU type and day where nothing is said; what has none, such as a disk, has no type", async () => {
    await using there = await world();
    await there.span({ owner: "p1", gpuType: "NVIDIA A40", gpuCount: 1 });
    await there.span({ owner: "p2", gpuType: "NVIDIA A40", gpuCount: 1, from: T0 + HOUR, to: T0 + 3 * HOUR });
    await there.span({ owner: "p2", instance: "p2", ...STORED, diskGb: 50, persistentGb: 20 });
    expect(await there.bill("pods")).toEqual([
      { time: at(T0), amount: 1, timeBilledMs: 0, ...disk(70) },
      { time: at(T0), amount: 3, timeBilledMs: 3 * HOUR, ...disk(0), gpuTypeId: "NVIDIA A40" },
    ]);
  });

  test("by Pod, by the hour, of some GPU types, of one Pod", async () => {
    await using there = await world();
    await there.span({ owner: "p1", gpuType: "NVIDIA A40", gpuCount: 1, to: T0 + 2 * HOUR });
    await there.span({ owner: "p2", gpuType: "NVIDIA L4", gpuCount: 1 });
    await there.span({ owner: "p3", gpuType: "NVIDIA B200", gpuCount: 1 });
    const ids = async (query: string) =>
      (await there.bill(`pods?grouping=podId&${query}`)).map(({ podId, time }: Record<string, string>) => [
        podId,
        time,
      ]);
    expect(await ids("bucketSize=hour&podId=p1")).toEqual([
      ["p1", at(T0)],
      ["p1", at(T0 + HOUR)],
    ]);
    expect(await ids("gpuTypeId=NVIDIA%20L4&gpuTypeId=NVIDIA%20B200")).toEqual([
      ["p2", at(T0)],
      ["p3", at(T0)],
    ]);
    expect(await ids(`startTime=${at(T0 + DAY)}&endTime=${at(T0 + 2 * DAY)}`)).toEqual([]);
  });
});

test("with an end time nothing counts that was used after it", async () => {
  await using there = await world();
  await there.span({ owner: "p1", gpuType: "NVIDIA A40", gpuCount: 1, to: T0 + 6 * HOUR });
  const until = (end: number) => there.bill(`pods?startTime=${at(T0)}&endTime=${at(end)}`);
  expect(await until(T0 + 2 * HOUR)).toMatchObject([{ time: at(T0), amount: 2, timeBilledMs: 2 * HOUR }]);
  expect(await until(T0 + DAY)).toMatchObject([{ amount: 6, timeBilledMs: 6 * HOUR }]);
});

describe("endpoints", () => {
  const worker = { kind: "worker", gpuType: "NVIDIA L4", gpuCount: 1, dataCenter: "EU-RO-1", image: "a" } as const;

  test("by endpoint where nothing is said, by worker, and by GPU type", async () => {
    await using there = await world();
    await there.span({ ...worker, owner: "e1", instance: "w1" });
    await there.span({ ...worker, owner: "e1", instance: "w2" });
    await there.span({ ...worker, owner: "e2", instance: "w3", gpuType: "NVIDIA A40" });
    await there.span({ owner: "p1" });
    const found = async (query: string, name: string) =>
      (await there.bill(`endpoints${query}`)).map((record: Record<string, unknown>) => [record[name], record.amount]);
    expect(await found("", "endpointId")).toEqual([
      ["e1", 2],
      ["e2", 1],
    ]);
    expect((await found("?grouping=podId", "podId")).map(([id]: [string]) => id)).toEqual(["w1", "w2", "w3"]);
    expect(await found("?grouping=gpuTypeId&endpointId=e1", "gpuTypeId")).toEqual([["NVIDIA L4", 2]]);
  });

  test("of some data centers, of an image, of a template", async () => {
    await using there = await world();
    await there.span({ ...worker, owner: "e1", template: "t1" });
    await there.span({ ...worker, owner: "e2", dataCenter: "US-KS-2", image: "b" });
    const ids = async (query: string) =>
      (await there.bill(`endpoints?${query}`)).map(({ endpointId }: { endpointId: string }) => endpointId);
    expect(await ids("dataCenterId=US-KS-2&dataCenterId=EU-CZ-1")).toEqual(["e2"]);
    expect(await ids("dataCenterId=US-KS-2&dataCenterId=EU-RO-1")).toEqual(["e1", "e2"]);
    expect(await ids("imageName=b")).toEqual(["e2"]);
    expect(await ids("templateId=t1")).toEqual(["e1"]);
  });
});

test("network volumes, with what is of the faster tier beside all of them", async () => {
  await using there = await world();
  await there.span({ kind: "volume", owner: "v1", instance: "v1", ...STORED, diskGb: 50, tier: "STANDARD" });
  await there.span({ kind: "volume", owner: "v2", instance: "v2", ...STORED, diskGb: 10, tier: "HIGH_PERFORMANCE" });
  expect(await there.bill("networkvolumes?bucketSize=month")).toEqual([
    {
      ...{ time: at(T0), amount: 2, diskSpaceBilledGb: 60 },
      ...{ highPerformanceStorageAmount: 1, highPerformanceStorageDiskSpaceBilledGb: 10 },
    },
  ]);
});

test.each(["pods?bucketSize=decade", "pods?grouping=house", "endpoints?startTime=yesterday"])(
  "%s: 400",
  async (path) => {
    await using there = await world();
    expect((await there.call("GET", `/v1/billing/${path}`)).status).toBe(400);
  },
);
