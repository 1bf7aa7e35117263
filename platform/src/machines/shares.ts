/** Computes the share of a box that goes with GPUs, from the catalog, the instance's minimum and the size of the box. */
import type { GpuChoice, Need, Share } from "./need.ts";
import type { Free } from "./place.ts";

/**
 * Returns the share that goes with these devices: what the catalog says, or more if that is asked for, but no more than their part of this
 * box. The catalog describes the machines of others, and a box with a large GPU and few cores must still run its workers.
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

/** Whether the box gives these devices at least the minimum share. */
export function hasLeast(choice: GpuChoice, count: number, free: Pick<Free, "box">): boolean {
  if (!choice.least) return true;
  const [offered, least] = [offeredWith(choice, count, free), timed(count, choice.least)];
  return offered.vcpu >= least.vcpu && offered.memoryMb >= least.memoryMb;
}

/** Virtual devices stand for machines as the catalog describes them, on a box that may be smaller or larger. */
function offeredWith(choice: GpuChoice, count: number, free: Pick<Free, "box">): Share {
  const { vcpu, memoryMb } = choice;
  return free.box.ceilings ? larger(timed(count, { vcpu, memoryMb }), free.box) : shareWith(choice, count, free);
}

/** Whether any of the choices gets its minimum share there. A need without devices always does. */
export const hasLeastOfAny = (need: Need, free: Pick<Free, "box">): boolean =>
  need.kind === "cpu" || need.types.some((choice) => hasLeast(choice, need.count, free));

const timed = (count: number, { vcpu, memoryMb }: Share): Share => ({ vcpu: vcpu * count, memoryMb: memoryMb * count });

const larger = (a: Share, b: Share = a): Share => ({
  vcpu: Math.max(a.vcpu, b.vcpu),
  memoryMb: Math.max(a.memoryMb, b.memoryMb),
});
