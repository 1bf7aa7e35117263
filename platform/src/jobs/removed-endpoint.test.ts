/** Requests that wait for jobs of an endpoint that is removed, and of one that is only said to be. */
import { expect, test } from "vitest";
import { here, submission } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";
import { FakeClock } from "../kernel/clock.ts";
import { SeededRandom } from "../kernel/random.ts";
import { MemoryQueue } from "../ports/queue/memory-queue.ts";
import { MemorySignals } from "../ports/signals/memory-signals.ts";
import { Engine } from "./engine.ts";

async function setup() {
  const clock = new FakeClock();
  const signals = new MemorySignals();
  const engine = new Engine({
    ...{ queue: new MemoryQueue(clock), signals, clock, random: new SeededRandom(1) },
    failed: (error) => {
      throw error;
    },
  });
  const { id } = await engine.submit(submission());
  const states: string[] = [];
  for (let waiters = 0; waiters < 2; waiters++)
    void engine.waitFor("ep", id, { waitMs: 60_000, gone: here }).then(({ job }) => states.push(job.state));
  await idle();
  return { engine, signals, states };
}

test("all who wait for its jobs are told that they were cancelled, once", async () => {
  const world = await setup();
  await world.engine.removeEndpoint("ep");
  await idle();
  expect(world.states).toEqual(["CANCELLED", "CANCELLED"]);
  expect(world.engine.waiters.size).toBe(0);
});

test("nobody is told so while the job is still there: the signal is only a reason to look", async () => {
  const world = await setup();
  // A node whose connection for signals was lost gives every listener a reason to look.
  world.signals.emitAll();
  await idle();
  expect(world.states).toEqual([]);
  expect(world.engine.waiters.size).toBe(1);
});
