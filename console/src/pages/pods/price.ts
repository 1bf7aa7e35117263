/** What a Pod would cost, from the catalog and what the form asks for. */
import type { CpuType, GpuType } from "@millrace/platform/resources/catalog/model.ts";

type Cloud = "secure" | "community";

export const podGpuPrice = ({ price }: Pick<GpuType, "price">, cloud: Cloud): number => price[cloud];

/** The wanted number, or the nearest below it that there is. */
export const fittingCount = (counts: readonly number[], wanted: number): number =>
  counts.findLast((count) => count <= wanted) ?? counts[0] ?? wanted;

interface Wishes {
  gpu?: { id?: string; count?: number };
  cpu?: { id?: string; vcpuCount?: number };
}

interface Catalog {
  gpus: readonly Pick<GpuType, "id" | "price">[];
  cpus: readonly Pick<CpuType, "id" | "price">[];
}

/** USD an hour; undefined until something is chosen. */
export function podPrice({ gpu, cpu }: Wishes, cloud: Cloud, { gpus, cpus }: Catalog): number | undefined {
  if (cpu) {
    const flavor = cpus.find(({ id }) => id === cpu.id);
    return flavor && flavor.price.securePerVcpu * (cpu.vcpuCount ?? 0);
  }
  const type = gpus.find(({ id }) => id === gpu?.id);
  return type && podGpuPrice(type, cloud) * (gpu?.count ?? 1);
}
