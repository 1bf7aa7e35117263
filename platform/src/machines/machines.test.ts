/** The roll of machines that several nodes name. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { FakeCompute } from "../ports/compute/fake-compute.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Machines } from "./machines.ts";

test("a machine that another node has just taken over is on the roll once", async () => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const compute = new FakeCompute(clock);
  const namedBy = (id: string, aheadMs: number) => {
    const own = [{ id: "shared", compute, site: { dataCenter: "EU-RO-1" } }];
    const node = { id, url: () => "", workerUrl: () => "" };
    const itsClock = { now: () => clock.now() + aheadMs, monotonic: () => clock.monotonic(), after: clock.after };
    const drains = { all: async () => new Map<string, number>() };
    return new Machines({ store, clock: itsClock, node, own, drains, alone: false, heard: () => {} });
  };
  const first = namedBy("first", 0);
  await first.prepared();
  // By this node's clock, the lease of the first has run out.
  const second = namedBy("second", 20_000);
  await second.prepared();
  const doc = { seenAt: clock.now(), machines: ["shared"], activeAt: {} };
  await store.commit([
    { do: "insert", record: { kind: "node", id: "second", account: "*", createdAt: 0, doc, unique: [] } },
  ]);
  expect([first.holds.has("shared"), second.holds.has("shared")]).toEqual([true, true]);
  expect((await first.roll()).machines.map(({ id }) => id)).toEqual(["shared"]);
});
