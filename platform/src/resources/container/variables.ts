/** Variables that tell a program where it runs and what it has there, under our own names and the established ones. */
import { hash } from "node:crypto";
import { gpuMemoryGb } from "../../catalog/compute.ts";

export type Variables = Record<string, string>;

/** The share of a machine that a program was given. */
export interface ComputeGiven {
  vcpu: number;
  memoryMb: number;
  gpuType: string | null;
  gpuCount: number;
}

export const hostName = (id: string) => `${id}-${hash("sha256", id, "hex").slice(0, 8)}`;

/** A GPU name has `+` in place of spaces, as everywhere in this protocol. */
export function computeVariables({ vcpu, memoryMb, gpuType, gpuCount }: ComputeGiven) {
  return {
    CPU_COUNT: String(vcpu),
    MEM_GB: String(Math.round(memoryMb / 1024)),
    GPU_COUNT: String(gpuCount),
    GPU_NAME: gpuType?.replaceAll(" ", "+"),
    GPU_SIZE: gpuType === null ? undefined : gpuMemoryGb(gpuType)?.toString(),
  };
}

export function underBothNames(values: Record<string, string | undefined>): Variables {
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(
    known.flatMap(([name, value]) => [
      [`MILLRACE_${name}`, value],
      [`RUNPOD_${name}`, value],
    ]),
  );
}
