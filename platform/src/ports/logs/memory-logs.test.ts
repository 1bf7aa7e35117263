/** The memory logs keep the port's promises. */
import { logsConformance } from "./logs.conformance.ts";
import { MemoryLogs } from "./memory-logs.ts";

logsConformance("MemoryLogs", async () => {
  const logs = new MemoryLogs();
  return {
    logs,
    reopen: { cannot: "memory logs end with their process" },
    [Symbol.asyncDispose]: () => logs[Symbol.asyncDispose](),
  };
});
