/** A list of CUDA versions next to a least one, which older clients send together: the listed versions that are new enough count. */
import type { Flat } from "../../kernel/flat.ts";
import { compareVersions } from "../../machines/terms.ts";

/** If no listed version is new enough, both stay, and the service refuses them. */
export function withOneCuda(flat: Flat): Flat {
  const { allowedCudaVersions: listed, minCudaVersion: least } = flat;
  if (!Array.isArray(listed) || typeof least !== "string" || least === "") return flat;
  const newer = (listed as string[]).filter((version) => compareVersions(version, least) >= 0);
  if (newer.length > 0) return { ...flat, allowedCudaVersions: newer, minCudaVersion: undefined };
  return listed.length === 0 ? { ...flat, allowedCudaVersions: undefined } : flat;
}
