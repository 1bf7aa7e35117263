/** How much memory the bodies and results in transit may use together. */
import { totalmem } from "node:os";
import { operations } from "../../contract.ts";
import type { PayloadLimits } from "../../jobs/payload-limits.ts";
import { DEFAULT_BODY_LIMIT, MIB, type Operation } from "../../kernel/operation.ts";
import { BATCH_LIMIT } from "../worker-link/lines.ts";

const SHARE = 8;
const LEAST_MB = 256;
const MOST_MB = 2048;

/** In bytes. There is always enough for two of the longest bodies, so that one sender does not block another. */
export function bodyMemory(
  mb: number | undefined,
  { run, runsync, output }: PayloadLimits,
  machineBytes = memoryOfMachine(),
): number {
  const least = 2 * Math.max(longestInContract(), BATCH_LIMIT, run, runsync, output);
  if (mb === undefined) return Math.max(least, Math.min(MOST_MB, Math.max(LEAST_MB, toMb(machineBytes / SHARE))) * MIB);
  if (mb * MIB >= least) return mb * MIB;
  const why = `so that there is room for two of the longest bodies that the server takes`;
  throw new Error(`MILLRACE_BODIES_MB must be at least ${toMb(least)}, ${why}, not '${mb}'`);
}

const toMb = (bytes: number) => Math.floor(bytes / MIB);

/** Bytes that stream to a disk are never in memory as a whole. */
function longestInContract(): number {
  const all = Object.values<Operation>(operations).filter(({ bytes }) => bytes === undefined);
  return Math.max(...all.map(({ bodyLimit = DEFAULT_BODY_LIMIT }) => bodyLimit));
}

/** A control group may allow less than the machine has. Where it sets no limit, Node reports 0 or more than the machine has. */
function memoryOfMachine(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
