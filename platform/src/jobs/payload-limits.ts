/** How long a job's input and output may be: the documented limits, unless the operator sets others. */
import { MIB } from "../kernel/operation.ts";

/** In bytes of the whole body. */
export interface PayloadLimits {
  run: number;
  runsync: number;
  /** A longer result is kept apart, and its record has a link to it. */
  output: number;
  /** A result that is longer than this too fails its job. */
  large: number;
}

/**
 * Bodies that a worker takes at once: they are in memory until they are sent, and those of a thousand jobs would fill it. As much as
 * its results may have together.
 */
export const TAKEN_BYTES = 32 * MIB;

/** A body is read as one text, and Node's texts end at 512 MB. */
const MOST_MB = 256;
const LARGE_MB = 256;
/** One that is kept apart is never read as a whole. */
const MOST_LARGE_MB = 4096;

/** `10,20,20,256`: MB of a /run body, a /runsync body, a result, and a result that is kept apart; 0 keeps none apart. */
export function parsePayloadLimits(text: string): PayloadLimits {
  const parts = text.split(",").map((part) => (/^\d{1,4}$/.test(part.trim()) ? Number(part) : Number.NaN));
  const [run = 0, runsync = 0, output = 0, large = Math.max(output, LARGE_MB)] = parts;
  const isSane = [run, runsync, output].every((mb) => mb >= 1 && mb <= MOST_MB);
  const isLargeSane = large === 0 || (large >= output && large <= MOST_LARGE_MB);
  if (parts.length > 4 || !isSane || !isLargeSane)
    throw new Error(
      `must be three numbers of MB from 1 to ${MOST_MB}, and a fourth that is 0 or from the third to ${MOST_LARGE_MB}`,
    );
  return { run: run * MIB, runsync: runsync * MIB, output: output * MIB, large: Math.max(large, output) * MIB };
}
