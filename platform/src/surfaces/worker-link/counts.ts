/** Numbers that a worker sends in a query, read as well as they can be. */

import { MOST_TAKEN } from "../../jobs/worker-link-operations.ts";

export const batchSize = (search: URLSearchParams) =>
  numberIn(search.get("batch_size"), { least: 1, most: MOST_TAKEN, standard: 1 });

/** What our own worker library counts, from 1; undefined when the worker does not say, or says nothing of sense. */
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
