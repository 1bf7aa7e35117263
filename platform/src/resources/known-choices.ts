/** Lists of alternatives in REST v1 and GraphQL. An entry that is not in the catalog is never available, so it cannot be the one chosen. */
import { cpuFlavor, gpuType, isDataCenter } from "../catalog/compute.ts";
import type { Flat } from "../kernel/flat.ts";

const isKnown: Readonly<Record<string, (id: string) => boolean>> = {
  gpuTypeIds: (id) => gpuType(id) !== undefined,
  cpuFlavorIds: (id) => cpuFlavor(id) !== undefined,
  dataCenterIds: isDataCenter,
};

/** Leaves out unknown entries of these lists. A list without any known entry stays, for the service to refuse by name. */
export function withKnownChoices(body: Flat): Flat {
  const lists = Object.entries(isKnown).flatMap(([name, isOne]) => {
    const known = Array.isArray(body[name]) ? body[name].filter(isOne) : [];
    return known.length > 0 ? [[name, known] as const] : [];
  });
  return { ...body, ...Object.fromEntries(lists) };
}
