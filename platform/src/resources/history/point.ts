/** An open point: it collects the samples and counts of its step until the step is over. */
import { addSpread, type Spread } from "../../kernel/histogram.ts";
import type { Row } from "./block.ts";
import { type Layout, scaled } from "./model.ts";

/** An open point as the store keeps it, so that a restarted server can continue it. */
export type KeptPoint = {
  at: number;
  /** The number of samples; then for each gauge the sum or maximum of its samples, and how many of them were known. */
  samples: number;
  gauges: number[];
  known: number[];
  sums: number[];
  spreads: [bucket: number, count: number][][];
};

/** What was counted of a resource since the last tick. */
export interface Counted {
  sums: readonly number[];
  spreads: readonly Iterable<readonly [bucket: number, count: number]>[];
}

/** Values in the order of the layout's gauges; undefined means unknown. */
export type Sample = readonly (number | undefined)[];

/** Each tracked resource reuses one of these for every step. Most steps count nothing, so counters are made when they are needed. */
export class OpenPoint {
  #at: number;
  readonly #layout: Layout;
  #samples = 0;
  /** The last sample, and how often it came again. Most resources do nothing, so the same one comes for hours. */
  #last: Sample | undefined;
  #again = 0;
  /** Whether there was no other sample than the last one. */
  #isOnly = true;
  readonly #gauges: number[];
  readonly #known: number[];
  #sums: number[] | undefined;
  #spreads: Spread[] | undefined;

  constructor(layout: Layout, at: number, kept?: KeptPoint) {
    this.#layout = layout;
    this.#at = at;
    this.#gauges = layout.gauges.map((_, i) => kept?.gauges[i] ?? 0);
    this.#known = layout.gauges.map((_, i) => kept?.known[i] ?? 0);
    if (kept?.sums.some((value) => value > 0)) this.count(kept);
    this.#samples = kept?.samples ?? 0;
  }

  get at(): number {
    return this.#at;
  }

  /** Clears the point and uses it for a later step. */
  renew(at: number): void {
    this.#at = at;
    this.#samples = 0;
    this.#last = undefined;
    this.#again = 0;
    this.#isOnly = true;
    this.#gauges.fill(0);
    this.#known.fill(0);
    this.#sums = undefined;
    this.#spreads = undefined;
  }

  /** Adds samples of 0 for the time in which the resource was idle and had no track, so that the mean covers the whole step. */
  missed(samples: number): void {
    this.#addRepeated();
    const more = samples - this.#samples;
    if (more <= 0) return;
    this.#isOnly = false;
    this.#samples += more;
    for (const [i, { isOptional }] of this.#layout.gauges.entries()) if (!isOptional) this.#known[i]! += more;
  }

  /** A sample that is the same object as the last one costs nothing. */
  sample(values: Sample): void {
    if (values === this.#last) {
      this.#again++;
      return;
    }
    this.#addRepeated();
    this.#isOnly = this.#samples === 0;
    this.#last = values;
    this.#add(values, 1);
  }

  /** The sample of this point, if there was no other. */
  get only(): Sample | undefined {
    return this.#isOnly ? this.#last : undefined;
  }

  #addRepeated(): void {
    if (this.#again > 0) this.#add(this.#last!, this.#again);
    this.#again = 0;
  }

  #add(values: Sample, times: number): void {
    this.#samples += times;
    const { gauges } = this.#layout;
    for (let i = 0; i < gauges.length; i++) {
      const value = values[i];
      if (value === undefined) continue;
      this.#known[i]! += times;
      this.#gauges[i] =
        gauges[i]!.how === "most" ? Math.max(this.#gauges[i]!, value) : this.#gauges[i]! + value * times;
    }
  }

  count({ sums, spreads }: Counted): void {
    this.#sums ??= this.#layout.sums.map(() => 0);
    this.#spreads ??= this.#layout.quantiles.map(() => new Map());
    for (const i of this.#sums.keys()) this.#sums[i]! += sums[i] ?? 0;
    for (const [i, spread] of this.#spreads.entries()) addSpread(spread, spreads[i] ?? []);
  }

  get hasCounted(): boolean {
    return this.#sums?.some((value) => value > 0) === true;
  }

  /** Whether its scaled gauges equal these values. True if nothing was sampled. */
  comesTo(values: readonly number[]): boolean {
    this.#addRepeated();
    if (this.#samples === 0) return true;
    const { gauges } = this.#layout;
    for (let i = 0; i < gauges.length; i++)
      if (scaled(gauges[i]!, this.#valueOf(i, gauges[i]!.how)) !== values[i]) return false;
    return true;
  }

  /** Returns the point as it stands now. */
  row(): Row {
    this.#addRepeated();
    const { gauges } = this.#layout;
    return {
      at: this.#at,
      gauges: this.#samples === 0 ? undefined : gauges.map((gauge, i) => scaled(gauge, this.#valueOf(i, gauge.how))),
      sums: this.#sums ?? [],
      spreads: this.#spreads ?? [],
    };
  }

  kept(): KeptPoint {
    this.#addRepeated();
    return {
      ...{ at: this.#at, samples: this.#samples, gauges: [...this.#gauges], known: [...this.#known] },
      ...{ sums: [...(this.#sums ?? [])], spreads: (this.#spreads ?? []).map((spread) => [...spread]) },
    };
  }

  #valueOf(i: number, how: "mean" | "most"): number | undefined {
    if (this.#known[i] === 0) return undefined;
    return how === "most" ? this.#gauges[i] : this.#gauges[i]! / this.#known[i]!;
  }
}
