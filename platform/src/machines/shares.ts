/** What of a box goes with devices: what the catalog says, what an instance asks for at least, and what there is. */
import type { GpuChoice, Need, Share } from "./need.ts";
import type { Free } from "./place.ts";

/**
 * What goes with devices: what the catalog says, or more where that is asked for, but no more than their part of this box. The catalog
 * describes the machines of others; a box with a large GPU and few cores must still run its workers.
 */
export function shareWith({ vcpu, memoryMb, least }: GpuChoice, count: number, { box }: Pick<Free, "box">): Share {
  const asked = timed(count, larger({ vcpu, memoryMb }, least));
  if (box.ceilings) return asked;
  const part = count / box.gpus.reduce((sum, stock) => sum + stock.count, 0);
  return {
    vcpu: Math.min(asked.vcpu, Math.max(1, Math.floor(box.vcpu * part))),
    memoryMb: Math.min(asked.memoryMb, Math.floor(box.memoryMb * part)),
  };
}

/** Whether as much goes with devices there as is asked for at least. */
export function hasLeast(choice: GpuChoice, count: number, free: Pick<Free, "box">): boolean {
  if (!choice.least) return true;
  const [offered, least] = [offeredWith(choice, count, free), timed(count, choice.least)];
  return offered.vcpu >= least.vcpu && offered.memoryMb >= least.memoryMb;
}

/** Made-up devices stand for machines as the catalog describes them, on a box that may be smaller or larger than those. */
function offeredWith(choice: GpuChoice, count: number, free: Pick<Free, "box">): Share {
  const { vcpu, memoryMb } = choice;
  return free.box.ceilings ? larger(timed(count, { vcpu, memoryMb }), free.box) : shareWith(choice, count, free);
}

/** Whether any of the choices gets there what it asks for at least; whatever needs no devices does. */
export const hasLeastOfAny = (need: Need, free: Pick<Free, "box">): boolean =>
  need.kind === "cpu" || need.types.some((choice) => hasLeast(choice, need.count, free));

const timed = (count: number, { vcpu, memoryMb }: Share): Share => ({ vcpu: vcpu * count, memoryMb: memoryMb * count });

const larger = (a: Share, b: Share = a): Share => ({
  vcpu: Math.max(a.vcpu, b.vcpu),
  memoryMb: Math.max(a.memoryMb, b.memoryMb),
});
