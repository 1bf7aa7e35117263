/** Reads the exit status of a program as engines report it. */
import { constants } from "node:os";
import type { Exit } from "../../ports/compute/compute.ts";

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Engines report a shell's exit status, in which 128 + n stands for signal n. */
export function statusOf(status: number): Pick<Exit, "code" | "signal"> {
  const signal = signalNames.get((status - 128) as never);
  return signal === undefined ? { code: status } : { code: null, signal };
}
