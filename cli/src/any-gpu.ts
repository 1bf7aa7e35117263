/** Asks for GPUs of any type, where a person says only how many. */
import { catalogOperations } from "@millrace/platform/resources/catalog/operations.ts";
import type { ApiClient } from "./api.ts";
import { Failure } from "./failure.ts";

/** Every pool of the server's catalog. The API takes no number of GPUs without saying of which. */
export async function anyGpu(api: ApiClient): Promise<{ pools: string[] }> {
  const { gpus } = await api.call(catalogOperations.listGpuTypes);
  const pools = [...new Set(gpus.flatMap(({ pool }) => pool ?? []))];
  if (pools.length === 0) throw new Failure("the catalog of the server has no pool of GPUs: name a type by --gpu.id");
  return { pools };
}
