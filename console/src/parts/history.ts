/** The history of metrics as charts show it. */

export interface History {
  /** When the first step begins. */
  start: string;
  /** Seconds that each point stands for. */
  step: number;
  /** All are equally long. */
  series: Readonly<Record<string, (number | null)[]>>;
}

/** A chart shows at least this part of its range, so that the first minute does not look like an hour. */
const LEAST_PART = 1 / 6;

/** The moments of a history, in seconds since 1970. */
export function timesOf({ start, step, series }: History): number[] {
  const first = Date.parse(start) / 1000;
  return Array.from({ length: lengthOf(series) }, (_, index) => first + index * step);
}

/** Leaves out the time before anything was known. What is new would otherwise be a thin line at the edge of an empty chart. */
export function sinceFirst<Of extends History>(history: Of): Of {
  const { start, step, series } = history;
  const length = lengthOf(series);
  const columns = Object.values(series);
  const firstKnown = Array.from({ length }, (_, index) => index).find((index) =>
    columns.some((column) => isKnown(column[index])),
  );
  const left = Math.min(firstKnown ?? 0, Math.floor(length * (1 - LEAST_PART)));
  if (left === 0) return history;
  return {
    ...history,
    start: new Date(Date.parse(start) + left * step * 1000).toISOString(),
    series: Object.fromEntries(Object.entries(series).map(([name, column]) => [name, column.slice(left)])),
  };
}

const lengthOf = (series: History["series"]) => Object.values(series)[0]?.length ?? 0;
const isKnown = (value: number | null | undefined) => value !== null && value !== undefined;
