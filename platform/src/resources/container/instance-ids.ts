/** CPU flavors with their size in one word, `<flavor>-<vCPUs>-<GB>`, as the flat dialect has them. */
import { type CpuFlavor, cpuFlavors } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import { t } from "../../kernel/schema.ts";

const MOST = 100;

export const instanceIds = t.Array(t.String({ maxLength: 191, pattern: "^[^-]+-\\d{1,4}(-\\d{1,9})?$" }), {
  minItems: 1,
  maxItems: MOST,
  description: "CPU flavors in order of preference, each `<flavor>-<vCPUs>-<GB>`.",
});

export function flavorOf(instance: string): { id: string; vcpuCount: number } {
  const [id = "", vcpus] = instance.split("-");
  return { id, vcpuCount: Number(vcpus) };
}

/** The size of a Pod or worker without GPUs if the caller names none. */
export const DEFAULT_VCPUS = 2;

/** For callers that name no flavor: all flavors that come in this size, the cheapest first. */
export function anyOfSize(vcpus: number): string[] {
  const offered = cpuFlavors().filter(({ minVcpu, maxVcpu }) => minVcpu <= vcpus && vcpus <= maxVcpu);
  if (offered.length === 0) throw tooLarge(`${vcpus} vCPUs`);
  return cheapestFirst(offered).map(({ id }) => `${id}-${vcpus}`);
}

/** For callers that name a minimum: each flavor in the smallest size that meets it, the cheapest first. */
export function anyWithAtLeast(least: { vcpus: number; memoryGb: number }): string[] {
  const sized = cpuFlavors().flatMap((flavor) => {
    const vcpus = Math.max(flavor.minVcpu, least.vcpus, Math.ceil(least.memoryGb / flavor.ramGbPerVcpu));
    const size = 2 ** Math.ceil(Math.log2(vcpus));
    return size <= flavor.maxVcpu ? [{ ...flavor, size }] : [];
  });
  if (sized.length === 0) throw tooLarge(`${least.vcpus} vCPUs and ${least.memoryGb} GB of memory`);
  return cheapestFirst(sized).map(({ id, size }) => `${id}-${size}`);
}

const tooLarge = (asked: string) => problem("rule-broken", `No CPU flavor has ${asked}: ask for less.`);

const cheapestFirst = <F extends CpuFlavor & { size?: number }>(flavors: readonly F[]): F[] =>
  flavors.toSorted((a, b) => a.price.securePerVcpu * (a.size ?? 1) - b.price.securePerVcpu * (b.size ?? 1));
