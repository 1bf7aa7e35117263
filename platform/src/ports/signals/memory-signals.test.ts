/** The memory signals keep the port's guarantees. */
import { expect, test } from "vitest";
import { MemorySignals } from "./memory-signals.ts";
import { listener, signalsConformance } from "./signals.conformance.ts";

signalsConformance("MemorySignals", async () => {
  const signals = new MemorySignals();
  return {
    signals,
    another: { cannot: "memory signals stay in one process" },
    [Symbol.asyncDispose]: () => signals[Symbol.asyncDispose](),
  };
});

test("a topic that nobody listens to any more is forgotten", async () => {
  await using signals = new MemorySignals();
  const listeners = [listener(signals, "work:a"), listener(signals, "work:a"), listener(signals, "ended:j")];
  expect(signals.topics).toBe(2);
  for (const { stop } of listeners) stop();
  expect(signals.topics).toBe(0);
});
