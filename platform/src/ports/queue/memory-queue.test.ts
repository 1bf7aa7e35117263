/** The memory queue keeps the port's guarantees, and the history check detects queues that do not. */
import { expect, test } from "vitest";
import { withStandbys } from "../../../tests/standby-queue.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { History, printedSeed } from "./conformance-history.ts";
import type { OpenQueue } from "./conformance-jobs.ts";
import { MemoryQueue } from "./memory-queue.ts";
import { queueConformance } from "./queue.conformance.ts";
import type { Claimed, Queue } from "./queue.ts";
import { standbyConformance } from "./standby.conformance.ts";

const opened =
  (made: (queue: Queue) => Queue): OpenQueue =>
  async () => {
    const clock = new FakeClock();
    const queue = new MemoryQueue(clock);
    return {
      queue: made(queue),
      elapse: (ms) => clock.advance(ms),
      reopen: { cannot: "a memory queue ends with its process" },
      another: { cannot: "a memory queue is in one process" },
      [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose](),
    };
  };

queueConformance(
  "MemoryQueue",
  opened((queue) => queue),
);
standbyConformance("the queue that stands in for PostgreSQL's in tests", opened(withStandbys));

const run = { tasks: 12, steps: 80 };

test("what many do at once is one possible history", async () => {
  await using queue = new MemoryQueue(new FakeClock());
  const history = new History([queue], { ...run, seed: printedSeed() });
  await history.run();
  await history.check();
  expect(Math.min(...Object.values(history.tally))).toBeGreaterThan(0);
});

/** Queues that each have one fault. */
const faults: [string, (queue: MemoryQueue) => Partial<Queue>][] = [
  [
    "hands out a job twice",
    (queue) => {
      let last: Claimed[] = [];
      return {
        async claim(ask) {
          const claimed = await queue.claim(ask);
          const again = last.map(({ job, body }) => ({ job: { ...job, holder: ask.holder }, body }));
          last = claimed.slice(0, 1);
          return claimed.length < ask.limit ? [...claimed, ...again.slice(0, 1)] : claimed;
        },
      };
    },
  ],
  [
    "changes what has ended",
    (queue) => ({
      apply: (changes) =>
        queue.apply(changes.map((change) => ({ ...change, when: { states: [...change.when.states, "COMPLETED"] } }))),
    }),
  ],
  [
    "forgets to count",
    (queue) => ({ apply: (changes) => queue.apply(changes.map((change) => ({ ...change, also: {} }))) }),
  ],
];

test.for(faults)("a queue that %s is found out", async ([, fault]) => {
  await using queue = new MemoryQueue(new FakeClock());
  const overrides = fault(queue);
  const faulty = new Proxy(queue, {
    get: (target, name) => {
      const value = (overrides as Record<PropertyKey, unknown>)[name] ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const history = new History([faulty], { ...run, seed: 1 });
  const found = history.run().then(() => history.check());
  await expect(found).rejects.toThrow();
});
