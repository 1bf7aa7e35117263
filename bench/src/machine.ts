/** Describes where the measurement runs: commit, machine and disk. A disk in memory is refused. */
import { execFileSync } from "node:child_process";
import { closeSync, fsyncSync, openSync, readFileSync, statfsSync, unlinkSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./figures.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The statfs types of file systems that lose everything in a power failure. */
const IN_MEMORY = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
]);

export interface Machine {
  commit: string;
  node: string;
  cpu: string;
  cores: number;
  memoryGb: number;
  kernel: string;
  /** The load of other programs on the same cores when the measurement began. */
  loadBefore: number;
}

export function describeMachine(): Machine {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root }).toString().trim();
  const changed = git("status", "--porcelain") === "" ? "" : " with changes";
  return {
    commit: git("rev-parse", "--short", "HEAD") + changed,
    node: process.version,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: readFileSync("/proc/sys/kernel/osrelease", "utf8").trim(),
    loadBefore: loadavg()[0]!,
  };
}

export function refuseMemoryDisk(folder: string): void {
  const name = IN_MEMORY.get(statfsSync(folder).type);
  if (name) throw new Error(`${folder} is on ${name}, which keeps nothing: choose a folder on a disk with --folder`);
}

/** The milliseconds that a small write and its flush take on the measured disk. */
export function flushLatency(folder: string): { median: number; max: number } {
  const file = join(folder, "flush");
  const descriptor = openSync(file, "w");
  const bytes = Buffer.alloc(4096);
  const times: number[] = [];
  for (let i = 0; i < 100; i++) {
    const started = performance.now();
    writeSync(descriptor, bytes, 0, bytes.length, i * bytes.length);
    fsyncSync(descriptor);
    times.push(performance.now() - started);
  }
  closeSync(descriptor);
  unlinkSync(file);
  return { median: median(times), max: Math.max(...times) };
}
