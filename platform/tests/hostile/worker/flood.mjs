/** A program that does all it can to make its output large, and never ends by itself. */
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
    // What is refused is as it should be.
  }
for (const text = "y\n".repeat(32_768); ; ) writeSync(1, text);
