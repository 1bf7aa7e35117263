/** What a span costs, in whole numbers of 1e-9 USD. However time is divided, the parts add up to the whole. */
import type { KeptSpan, Price } from "./span.ts";

const components = ["gpu", "cpu", "disk"] as const;
export type Component = (typeof components)[number];

/** The range `[from, to)`. */
export interface Window {
  from: number;
  to: number;
}

/** The hours of a month in storage prices. */
export const HOURS_PER_MONTH = 730;
const HOURS = BigInt(HOURS_PER_MONTH);
/** The milliseconds of that month. A rate is in 1e-9 USD per month. */
const MONTH_MS = HOURS * 3_600_000n;

/** A charged span, until it ended or until now, with the monthly rate of each part that costs something. */
export interface Reckoned {
  from: number;
  to: number;
  rates: readonly (readonly [Component, bigint])[];
}

/** Returns undefined for a span that is free of charge. An open span counts until now. */
export function reckoned({ price, from, to, free }: KeptSpan, now: number): Reckoned | undefined {
  const end = Math.min(to ?? now, now);
  if (free !== undefined || end <= from) return undefined;
  const rates = components.map((component) => [component, rateOf(price, component)] as const);
  return { from, to: end, rates: rates.filter(([, rate]) => rate > 0n) };
}

/** The rounded cost from the span's beginning up to a moment. Every charge for a span is a difference of two such values. */
export function costUntil(rate: bigint, { from, to }: Window, moment: number): bigint {
  const ms = Math.min(moment, to) - from;
  return ms <= 0 ? 0n : (rate * BigInt(ms) + MONTH_MS / 2n) / MONTH_MS;
}

/** The cost of the part of a span that is inside a window. */
export function costWithin(span: Reckoned, { from, to }: Window): bigint {
  return span.rates.reduce((sum, [, rate]) => sum + costUntil(rate, span, to) - costUntil(rate, span, from), 0n);
}

function rateOf(price: Price, component: Component): bigint {
  if (component === "disk") return BigInt(price.disk) * HOURS + BigInt(price.storage);
  return BigInt(price[component]) * HOURS;
}
