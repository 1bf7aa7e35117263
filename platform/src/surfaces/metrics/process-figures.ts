/** What this process uses of its machine. */
import { readdir } from "node:fs/promises";

export interface ProcessFigures {
  cpuSeconds: number;
  residentBytes: number;
  heapBytes: number;
  /** Undefined where the system does not say. */
  openFiles: number | undefined;
}

const MICRO = 1e-6;

export async function processFigures(): Promise<ProcessFigures> {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  const openFiles = await readdir("/proc/self/fd").then(
    (names) => names.length,
    () => undefined,
  );
  return {
    cpuSeconds: (user + system) * MICRO,
    residentBytes: rss,
    heapBytes: heapUsed,
    openFiles,
  };
}
