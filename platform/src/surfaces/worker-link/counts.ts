/** Reads numbers that a worker sends in a query, and tolerates bad ones. */

import { MOST_TAKEN } from "../../jobs/worker-link-operations.ts";

export const batchSize = (search: URLSearchParams) =>
  numberIn(search.get("batch_size"), { least: 1, most: MOST_TAKEN, standard: 1 });

/** A count from our own worker library, starting at 1. Undefined if it is absent or makes no sense. */
export function countIn(search: URLSearchParams, name: string): number | undefined {
  const text = search.get(name) ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

export function numberIn(
  text: string | null,
  { least, most, standard }: { least: number; most: number; standard: number },
): number {
  const value = Number.parseInt(text ?? "", 10);
  return Number.isNaN(value) ? standard : Math.min(most, Math.max(least, value));
}
