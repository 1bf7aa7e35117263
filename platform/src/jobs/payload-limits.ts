/** Limits on the size of a job's input and output: the documented ones, unless the operator sets others. */
import { MIB } from "../kernel/operation.ts";

/** Sizes are in bytes of the whole body. */
export interface PayloadLimits {
  run: number;
  runsync: number;
  /** A longer result is stored separately, and its record has a link to it. */
  output: number;
  /** A result longer than this fails its job. */
  large: number;
}

/**
 * The most bytes of job bodies that one take returns. They stay in memory until they are sent, and the bodies of a thousand jobs would fill
 * it. The results of one worker have the same limit together.
 */
export const TAKEN_BYTES = 32 * MIB;

/** A body is read into one string, and Node limits strings to 512 MB. */
const MOST_MB = 256;
const LARGE_MB = 256;
/** An output that is stored separately is never read as a whole, so it may be larger. */
const MOST_LARGE_MB = 4096;

/**
 * Parses `10,20,20,256`: the MB of a /run body, a /runsync body, a result, and a separately stored result. 0 as the last turns that storage
 * off.
 */
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
