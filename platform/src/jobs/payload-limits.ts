/** How long a job's input and output may be: the documented limits, unless the operator sets others. */
import { MIB } from "../kernel/operation.ts";

/** In bytes of the whole body. */
export interface PayloadLimits {
  run: number;
  runsync: number;
  output: number;
}

/** A body is read as one text, and Node's texts end at 512 MB. */
const MOST_MB = 256;

/** `10,20,20`: MB of a /run body, a /runsync body and a result. */
export function parsePayloadLimits(text: string): PayloadLimits {
  const parts = text.split(",").map((part) => (/^[1-9]\d{0,2}$/.test(part.trim()) ? Number(part) : Number.NaN));
  if (parts.length !== 3 || !parts.every((mb) => mb <= MOST_MB))
    throw new Error(`MILLRACE_PAYLOAD_LIMITS must be three numbers of MB from 1 to ${MOST_MB}, not '${text}'`);
  const [run, runsync, output] = parts.map((mb) => mb * MIB) as [number, number, number];
  return { run, runsync, output };
}
