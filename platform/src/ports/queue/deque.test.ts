/** The deque behaves like an array, whatever is done to it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Deque } from "./deque.ts";

type Step = { do: "push" | "unshift" | "shift" | "pop"; times: number };

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("push", "unshift", "shift", "pop"),
  // Large steps exceed the size at which used-up places are released.
  times: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(5_000)),
});

function run({ do: action, times }: Step, deque: Deque<number>, model: number[], next: () => number): void {
  for (let i = 0; i < times; i++) {
    if (action === "push" || action === "unshift") {
      const item = next();
      deque[action](item);
      model[action](item);
    } else if (deque[action]() !== model[action]()) throw new Error(`${action} differs`);
  }
}

test("any sequence of steps leaves what an array would hold", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const deque = new Deque<number>();
      const model: number[] = [];
      let made = 0;
      for (const each of steps) {
        run(each, deque, model, () => made++);
        expect([deque.length, deque.first, deque.last]).toEqual([model.length, model[0], model.at(-1)]);
      }
      expect([...deque]).toEqual(model);
    }),
    { numRuns: 50 },
  );
});

test("an empty deque gives nothing", () => {
  const deque = new Deque<number>();
  expect([deque.shift(), deque.pop(), deque.first, deque.last, deque.length]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    0,
  ]);
});
