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
