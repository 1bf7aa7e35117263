/** The roll of machines that several nodes name. */
import { expect, test } from "vitest";
import { idle } from "../../tests/idle.ts";
import { type Clock, FakeClock } from "../kernel/clock.ts";
import type { Absence } from "../ports/compute/compute.ts";
import { FakeCompute } from "../ports/compute/fake-compute.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Machines, type MachinesParts } from "./machines.ts";
import type { OwnMachine } from "./own-machine.ts";

const drains = { all: async () => new Map<string, number>() };

function node(id: string, own: MachinesParts["own"], parts: Pick<MachinesParts, "store" | "clock">): Machines {
  const identity = { id, url: () => "", workerUrl: () => "" };
  return new Machines({ ...parts, node: identity, own, drains, alone: false, heard: () => {} });
}

test("a machine that another node has just taken over is on the roll once", async () => {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const compute = new FakeCompute(clock);
  const namedBy = (id: string, aheadMs: number) => {
    const own = [{ id: "shared", compute, site: { dataCenter: "EU-RO-1" } }];
    const itsClock: Clock = {
      now: () => clock.now() + aheadMs,
      monotonic: () => clock.monotonic(),
      after: (ms, work) => clock.after(ms, work),
    };
    return node(id, own, { store, clock: itsClock });
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

test("other nodes forget what a machine no longer is or has", async () => {
  const parts = { store: new MemoryStore(), clock: new FakeClock() };
  const machine = (site: OwnMachine["site"], runs?: OwnMachine["runs"]) => ({
    ...{ id: "m", compute: new FakeCompute(parts.clock), site, ...(runs && { runs }) },
  });
  const said = async () => (await node("other", [], parts).known()).machines.map(({ dataCenter, ...rest }) => rest);
  await node("n", [machine({ dataCenter: "EU-RO-1", isEverywhere: true }, ["host"])], parts).prepared();
  expect(await said()).toMatchObject([{ isEverywhere: true, runs: ["host"] }]);
  await node("n", [machine({ dataCenter: "EU-RO-1" })], parts).prepared();
  const [now] = await said();
  expect(now).not.toHaveProperty("isEverywhere");
  expect(now).not.toHaveProperty("runs");
});

test("an engine that hangs does not hold up the report of its machine, and is reported once it is found out", async () => {
  const clock = new FakeClock();
  const compute = new FakeCompute(clock);
  const answer = Promise.withResolvers<Absence>();
  compute.whyAway = () => answer.promise;
  const machines = node("n", [{ id: "m", compute, site: { dataCenter: "EU-RO-1" } }], {
    store: new MemoryStore(),
    clock,
  });
  const prepared = machines.prepared();
  // The machine is looked at twice: when the node takes it, and at its first beat.
  for (const _ of [1, 2]) {
    await idle();
    await clock.advance(1000);
  }
  await prepared;
  expect((await machines.roll()).machines).toMatchObject([{ away: {} }]);
  const absence = { why: "no answer within 5 s", isNone: false };
  answer.resolve(absence);
  await machines.look(clock.now());
  expect((await machines.roll()).machines).toMatchObject([{ away: { container: absence } }]);
});
