/** Counting workers that wait for work. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { MemorySignals } from "../ports/signals/memory-signals.ts";
import { Pollers } from "./pollers.ts";

test("a worker that waits at several places counts once, until it has left all of them", () => {
  const pollers = new Pollers({ signals: new MemorySignals(), clock: new FakeClock() });
  const places = ["w1", "w1", "w2"].map((worker) => pollers.join("ep", worker));
  const counts = [pollers.workers("ep")];
  for (const place of places) {
    place[Symbol.dispose]();
    counts.push(pollers.workers("ep"));
  }
  expect(counts).toEqual([2, 2, 1, 0]);
});

test("after a look that left nothing behind, nobody looks until something is signalled or a moment has passed", async () => {
  const [signals, clock] = [new MemorySignals(), new FakeClock()];
  const pollers = new Pollers({ signals, clock });
  using waiting = pollers.join("ep", "w1");
  const isPointless = () => {
    using place = pollers.join("ep", "w2");
    return place.isPointless();
  };
  expect(isPointless()).toBe(false);
  waiting.look()();
  expect([isPointless(), isPointless()]).toEqual([true, true]);
  signals.emit("work:ep");
  expect(isPointless()).toBe(false);
  // What was signalled during a look may have come too late for it.
  const drained = waiting.look();
  signals.emit("work:ep");
  drained();
  expect(isPointless()).toBe(false);
  waiting.look()();
  expect(isPointless()).toBe(true);
  await clock.advance(250);
  expect(isPointless()).toBe(false);
});

test("only the first look of a place can be pointless", () => {
  const pollers = new Pollers({ signals: new MemorySignals(), clock: new FakeClock() });
  using place = pollers.join("ep", "w1");
  place.look()();
  expect([place.isPointless(), place.isPointless()]).toEqual([true, false]);
});

test("work is for the next in line while a released worker has not left it yet", async () => {
  const signals = new MemorySignals();
  const pollers = new Pollers({ signals, clock: new FakeClock() });
  const gone = new AbortController().signal;
  using released = pollers.join("ep", "w1");
  using next = pollers.join("ep", "w2");
  const [first, second] = [released.woken(60_000, gone), next.woken(60_000, gone)];
  pollers.release("ep", "w1");
  signals.emit("work:ep");
  expect(await Promise.all([first, second])).toEqual([false, true]);
});
