/** The capacity of this machine, as the one box that the driver knows. */
import { statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { type Box, ONLY_BOX } from "../../ports/compute/compute.ts";
import type { Devices } from "../../ports/compute/devices.ts";

const MB = 2 ** 20;
const GB = 2 ** 30;

/** The disk is the one that holds the folder of the instances. */
export async function thisBox(folder: string, devices: Devices, cuda: string | undefined): Promise<Box> {
  const { bsize, blocks } = await statfs(folder);
  return {
    id: ONLY_BOX,
    vcpu: availableParallelism(),
    memoryMb: Math.floor(totalmem() / MB),
    diskGb: Math.floor((bsize * blocks) / GB),
    gpus: devices.stock(),
    ceilings: devices.all.some(({ virtual }) => virtual),
    ...(cuda !== undefined && { cuda }),
  };
}
