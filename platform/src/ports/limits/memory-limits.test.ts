/** Limits in memory keep the port's guarantees. */
import { limitsConformance } from "./limits.conformance.ts";
import { MemoryLimits } from "./memory-limits.ts";

limitsConformance("MemoryLimits", async () => {
  const limits = new MemoryLimits();
  return { limits, [Symbol.asyncDispose]: () => limits[Symbol.asyncDispose]() };
});
