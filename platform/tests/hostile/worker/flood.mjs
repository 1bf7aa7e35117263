/** A program that does everything to make its output large and never ends by itself. */
import { ftruncateSync, openSync, writeSync } from "node:fs";

const tries = [
  () => ftruncateSync(1, 2e12),
  () => writeSync(1, "far", 2e12),
  () => writeSync(openSync("/proc/self/fd/1", "w"), "again"),
];
for (const attempt of tries)
  try {
    attempt();
  } catch {
    // The system should refuse these attempts.
  }
for (const text = "y\n".repeat(32_768); ; ) writeSync(1, text);
