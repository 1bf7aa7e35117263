/** How many workers a machine starts at once and per second, and for which accounts. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { StartGate, type StartLimits, startLimits } from "./start-gate.ts";

function setup(limits: StartLimits = { atOnce: 2, perSecond: 4, saved: 3 }) {
  const clock = new FakeClock();
  const gate = new StartGate(clock, () => limits);
  const inside: string[] = [];
  const turns = new Map<string, Disposable>();
  const ask = (account: string, worker: string) =>
    void gate.enter(account, worker).then((turn) => {
      if (!turn) return void inside.push(`${worker} given up`);
      inside.push(worker);
      turns.set(worker, turn);
    });
  const end = async (worker: string) => {
    turns.get(worker)![Symbol.dispose]();
    await clock.advance(0);
  };
  return { clock, gate, inside, ask, end };
}

test("no more are under way than may be", async () => {
  const { clock, inside, ask, end } = setup();
  for (const worker of ["a1", "a2", "a3"]) ask("a", worker);
  await clock.advance(10_000);
  expect(inside).toEqual(["a1", "a2"]);
  await end("a1");
  expect(inside).toEqual(["a1", "a2", "a3"]);
});

test("a turn that is over twice is over once", async () => {
  const { clock, inside, ask, end } = setup();
  for (const worker of ["a1", "a2", "a3", "a4"]) ask("a", worker);
  await clock.advance(10_000);
  await end("a1");
  await end("a1");
  expect(inside).toEqual(["a1", "a2", "a3"]);
});

test("after what was saved up only so many begin in a second", async () => {
  const { clock, inside, ask } = setup({ atOnce: 100, perSecond: 4, saved: 3 });
  for (let n = 0; n < 20; n++) ask("a", `a${n}`);
  await clock.advance(0);
  expect(inside).toHaveLength(3);
  await clock.advance(1000);
  expect(inside).toHaveLength(7);
  await clock.advance(2000);
  expect(inside).toHaveLength(15);
});

test("accounts take turns, however many one of them asks for", async () => {
  const { clock, inside, ask, end } = setup({ atOnce: 1, perSecond: 1000, saved: 1000 });
  for (const worker of ["a1", "a2", "a3"]) ask("a", worker);
  ask("b", "b1");
  await clock.advance(0);
  for (const worker of ["a1", "a2", "b1"]) await end(worker);
  expect(inside).toEqual(["a1", "a2", "b1", "a3"]);
});

test("one that is given up while it waits takes no place and no turn", async () => {
  const { clock, gate, inside, ask, end } = setup({ atOnce: 1, perSecond: 1000, saved: 1000 });
  for (const worker of ["a1", "a2", "a3"]) ask("a", worker);
  await clock.advance(0);
  gate.giveUp("a2");
  gate.giveUp("unknown");
  await end("a1");
  expect(inside).toEqual(["a1", "a2 given up", "a3"]);
});

test("a small machine starts a few at once, a large one many", () => {
  expect(startLimits(2)).toEqual({ atOnce: 4, perSecond: 20, saved: 20 });
  expect(startLimits(64)).toEqual({ atOnce: 128, perSecond: 640, saved: 640 });
});
