/** The memory logs keep the port's guarantees. */
import { FakeClock } from "../../kernel/clock.ts";
import { logsConformance } from "./logs.conformance.ts";
import { MemoryLogs } from "./memory-logs.ts";

logsConformance("MemoryLogs", async () => {
  const clock = new FakeClock();
  const logs = new MemoryLogs(clock);
  return {
    logs,
    clock,
    reopen: { cannot: "memory logs end with their process" },
    [Symbol.asyncDispose]: () => logs[Symbol.asyncDispose](),
  };
});
