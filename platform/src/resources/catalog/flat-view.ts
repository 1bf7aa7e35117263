/** The catalog as flat surfaces show it. */
import { type GpuType, gpuTypes } from "../../catalog/compute.ts";

export interface FlatGpuType {
  id: string;
  displayName: string;
  memoryInGb: number;
}

export const flatGpuTypes = (): FlatGpuType[] => gpuTypes().map(flatGpuType);

function flatGpuType({ id, name, memory }: GpuType): FlatGpuType {
  return { id, displayName: name, memoryInGb: memory };
}
