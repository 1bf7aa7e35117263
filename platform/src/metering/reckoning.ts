/** What a span costs, in whole numbers of 1e-9 USD: whatever time is cut into, the pieces add up to the whole. */
import type { KeptSpan, Price } from "./span.ts";

const components = ["gpu", "cpu", "disk"] as const;
export type Component = (typeof components)[number];

/** `[from, to)` */
export interface Window {
  from: number;
  to: number;
}

/** A month, as prices of storage mean it. */
export const HOURS_PER_MONTH = 730;
const HOURS = BigInt(HOURS_PER_MONTH);
/** Milliseconds of such a month: a rate is in 1e-9 USD for as long. */
const MONTH_MS = HOURS * 3_600_000n;

/** A span that is paid for, until it ended or until now: what each part of it costs in such a month; what costs nothing is left out. */
export interface Reckoned {
  from: number;
  to: number;
  rates: readonly (readonly [Component, bigint])[];
}

/** Undefined for one that nothing is paid for. One that is open counts until now. */
export function reckoned({ price, from, to, free }: KeptSpan, now: number): Reckoned | undefined {
  const end = Math.min(to ?? now, now);
  if (free !== undefined || end <= from) return undefined;
  const rates = components.map((component) => [component, rateOf(price, component)] as const);
  return { from, to: end, rates: rates.filter(([, rate]) => rate > 0n) };
}

/** The rounded cost from its beginning up to a moment. All that is ever charged for a span are differences of this. */
export function costUntil(rate: bigint, { from, to }: Window, moment: number): bigint {
  const ms = Math.min(moment, to) - from;
  return ms <= 0 ? 0n : (rate * BigInt(ms) + MONTH_MS / 2n) / MONTH_MS;
}

/** What of a span falls into a window. */
export function costWithin(span: Reckoned, { from, to }: Window): bigint {
  return span.rates.reduce((sum, [, rate]) => sum + costUntil(rate, span, to) - costUntil(rate, span, from), 0n);
}

function rateOf(price: Price, component: Component): bigint {
  if (component === "disk") return BigInt(price.disk) * HOURS + BigInt(price.storage);
  return BigInt(price[component]) * HOURS;
}
