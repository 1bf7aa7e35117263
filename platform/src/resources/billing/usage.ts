/** What was used in a bucket, apart from its cost: how long things ran, and how much they stored. */
import type { Component } from "../../metering/reckoning.ts";
import type { KeptSpan } from "../../metering/span.ts";
import type { Charge } from "./charges.ts";

interface Use {
  instance: string;
  /** The size of a disk; 0 for anything else. */
  gb: number;
  /** True if it is paid for by its running time. */
  runs: boolean;
}

export function useOf({ instance, diskGb, persistentGb = 0 }: KeptSpan, component: Component): Use {
  return component === "disk" ? { instance, gb: diskGb + persistentGb, runs: false } : { instance, gb: 0, runs: true };
}

export class Usage {
  /** The sum of all running times. */
  ranMs = 0;
  readonly #disks = new Map<Charge, Map<string, number>>();

  add(charge: Charge, { instance, gb, runs }: Use, ms: number): void {
    if (runs) this.ranMs += ms;
    if (gb === 0) return;
    const disks = this.#disks.get(charge) ?? new Map<string, number>();
    this.#disks.set(charge, disks.set(instance, Math.max(gb, disks.get(instance) ?? 0)));
  }

  /** The sum of the largest size that each thing had. */
  gbOf(charges: readonly Charge[] = [...this.#disks.keys()]): number {
    let sum = 0;
    for (const charge of charges) for (const gb of this.#disks.get(charge)?.values() ?? []) sum += gb;
    return sum;
  }
}
