/** Which series are kept of what, over which ranges and in which steps: the one place where this is said. */

export const ranges = ["1h", "24h", "7d", "30d"] as const;
export type Range = (typeof ranges)[number];

/** Points of one step, kept for one range. */
export interface Tier {
  range: Range;
  stepMs: number;
  points: number;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** The tiers, from the finest to the coarsest. Each has at most 360 points, which is as many as a chart can show. */
export const tiers = [
  { range: "1h", stepMs: 10 * SECOND_MS, points: 360 },
  { range: "24h", stepMs: 4 * MINUTE_MS, points: 360 },
  { range: "7d", stepMs: 30 * MINUTE_MS, points: 336 },
  { range: "30d", stepMs: 120 * MINUTE_MS, points: 360 },
] as const satisfies readonly Tier[];

/** The coarsest tier goes back this far. The settings may say less. */
export const HISTORY_DAYS = 30;

/** Points are written in blocks, so that a new point rewrites a short record and not the whole range. */
export const BLOCK_POINTS = 60;
/** A range rarely ends at the end of a block, so a tier keeps one block more than fits into it. A new block overwrites the oldest one. */
export const slotsOf = ({ points }: Tier): number => Math.ceil(points / BLOCK_POINTS) + 1;

export const pointAt = ({ stepMs }: Tier, ms: number): number => Math.floor(ms / stepMs);
export const blockOf = (point: number): number => Math.floor(point / BLOCK_POINTS);

/** A gauge has a value at every moment. The store keeps it as a whole number: the value times `scale`. */
export interface Gauge {
  name: string;
  scale: number;
  /** Which value stands for a step: the mean of its samples, or the largest of them. */
  how: "mean" | "most";
  /** True if the value may be unknown. Unknown is kept as 0, so a known value is kept plus one. */
  isOptional?: true;
  description: string;
}

/** A sum counts events within a step. Every node counts its own. */
export interface Sum {
  name: string;
  description: string;
}

/** Durations of events within a step. Readers get quantiles of them. */
export interface Quantiles {
  name: string;
  description: string;
}

/** The series of one kind of resource. Stored values are read by position, so new series must be appended. */
export interface Layout {
  gauges: readonly Gauge[];
  sums: readonly Sum[];
  quantiles: readonly Quantiles[];
}

const mean = (name: string, description: string): Gauge => ({ name, scale: 10, how: "mean", description });
const percent = (name: string, description: string): Gauge => ({
  ...{ name, scale: 1, how: "mean", isOptional: true },
  description: `${description}, in percent; null where nothing is measured.`,
});

const use = (whose: string) => [
  percent("cpu", `Processor use of ${whose}`),
  percent("memory", `Memory use of ${whose}`),
  percent("gpu", `GPU use of ${whose}`),
  percent("gpuMemory", `GPU memory use of ${whose}`),
];

const completed = { name: "jobsCompleted", description: "Jobs that completed within the step." };
const failed = { name: "jobsFailed", description: "Jobs that failed or timed out within the step." };

export const layouts = {
  endpoint: {
    gauges: [
      mean("jobsInQueue", "Jobs that waited, on average."),
      mean("jobsInProgress", "Jobs that ran, on average."),
      { name: "jobsInQueueMost", scale: 1, how: "most", description: "The most jobs that were seen waiting." },
      mean("workersRunning", "Workers that had jobs, on average."),
      mean("workersIdle", "Workers that waited for jobs, on average."),
      mean("workersInitializing", "Workers that were starting, on average."),
      mean("workersThrottled", "Workers that had no place, on average."),
      mean("workersUnhealthy", "Workers that could take no jobs, on average."),
      ...use("its workers, on average"),
    ],
    sums: [
      completed,
      failed,
      { name: "jobsRetried", description: "Attempts that went back to the queue within the step." },
      { name: "requests", description: "Requests to a load-balancing endpoint that ended within the step." },
      { name: "requestsFailed", description: "Those of them without an answer, or with one of 500 or above." },
    ],
    quantiles: [
      { name: "delay", description: "Time until a worker took them, of jobs and requests that ended within the step" },
      { name: "execution", description: "Time in a worker, of jobs and requests that ended within the step" },
    ],
  },
  pod: { gauges: use("its program"), sums: [], quantiles: [] },
  account: {
    gauges: [
      {
        ...{ name: "spendPerHour", scale: 1_000_000, how: "mean" },
        description: "What everything that ran or was stored cost by the hour, in USD, on average.",
      },
      mean("podsRunning", "Pods that ran, on average."),
      mean("workersRunning", "Workers that had jobs, on average."),
      mean("jobsInQueue", "Jobs that waited, on average."),
      mean("jobsInProgress", "Jobs that ran, on average."),
    ],
    sums: [completed, failed],
    quantiles: [],
  },
} as const satisfies Record<string, Layout>;

export type Measured = keyof typeof layouts;

/** The quantiles that readers get, by the suffix of their series name. */
export const shares = { P50: 0.5, P95: 0.95 } as const;

/** A resource that has series. */
export interface Subject {
  kind: Measured;
  id: string;
  account: string;
}

const LETTER: Record<Measured, string> = { endpoint: "e", pod: "p", account: "a" };
export const keyOf = ({ kind, id }: Pick<Subject, "kind" | "id">): string => `${LETTER[kind]}.${id}`;

/** Reads a key back. */
export function subjectOf(key: string): Pick<Subject, "kind" | "id"> {
  const kinds = Object.keys(LETTER) as Measured[];
  return { kind: kinds.find((kind) => key.startsWith(`${LETTER[kind]}.`))!, id: key.slice(2) };
}

/** Converts a value to the whole number that the store keeps. */
export function scaled({ scale, isOptional }: Gauge, value: number | undefined): number {
  if (value === undefined) return 0;
  return Math.max(0, Math.round(value * scale)) + (isOptional ? 1 : 0);
}

/** Converts a stored number back to the value, or to null if it is unknown. */
export function unscaled({ scale, isOptional }: Gauge, kept: number): number | null {
  if (!isOptional) return kept / scale;
  return kept === 0 ? null : (kept - 1) / scale;
}
