/** The figures that are asked for, each as a ratio of two measurements of one round. */
import type { Measure, PhaseName } from "./phases.ts";

export type StackName =
  | "sqlite"
  | "postgres"
  | "bullmq-always"
  | "bullmq-pipelined"
  | "bullmq-everysec"
  | "pg-boss"
  | "graphile-worker"
  | "lb-millrace"
  | "lb-nginx";

export type Source = "echo" | `${StackName}/${PhaseName}`;

export interface Figure {
  row: string;
  name: string;
  of: Source;
  against: Source;
  /** `work`: how much is done; `p50`: how long it takes, where less is better. */
  by: "work" | "p50";
  atLeast: number;
  aim: number;
}

const work = (row: string, name: string, of: Source, against: Source, atLeast: number, aim: number): Figure => ({
  row,
  name,
  of,
  against,
  by: "work",
  atLeast,
  aim,
});

const p50 = (row: string, name: string, of: Source, against: Source, atLeast: number, aim: number): Figure => ({
  row,
  name,
  of,
  against,
  by: "p50",
  atLeast,
  aim,
});

export const figures: Figure[] = [
  work("1", "/run accepted against echo", "sqlite/submit", "echo", 0.4, 0.6),
  work("2", "submit to result against echo, our worker library", "sqlite/together", "echo", 0.35, 0.45),
  work("3", "runsync at 64 connections against echo", "sqlite/runsync-64", "echo", 0.28, 0.4),
  work("3b", "submit to result against echo, one job per take", "sqlite/together-single", "echo", 0.08, 0.15),
  work("4", "/run against BullMQ always", "sqlite/submit", "bullmq-always/submit", 2, 3),
  work("4", "submit to result against BullMQ always", "sqlite/together", "bullmq-always/together", 4.5, 6),
  work("4", "runsync against BullMQ always", "sqlite/runsync-64", "bullmq-always/runsync-64", 8, 12),
  // Automatic pipelining is an option of ioredis that BullMQ does not document and whose use its maintainer doubts: shown, not demanded.
  work("4", "/run against BullMQ always, pipelined", "sqlite/submit", "bullmq-pipelined/submit", 0, 0),
  work("4", "submit to result against the same", "sqlite/together", "bullmq-pipelined/together", 0, 0),
  work("4", "runsync against the same", "sqlite/runsync-64", "bullmq-pipelined/runsync-64", 0, 0),
  work("5", "/run against BullMQ everysec", "sqlite/submit", "bullmq-everysec/submit", 1.5, 2.5),
  work("5", "submit to result against BullMQ everysec", "sqlite/together", "bullmq-everysec/together", 3, 5),
  work("5", "runsync against BullMQ everysec", "sqlite/runsync-64", "bullmq-everysec/runsync-64", 4, 8),
  work("6", "submit to result against pg-boss", "sqlite/together", "pg-boss/together", 10, 15),
  work("6", "submit to result against graphile-worker", "sqlite/together", "graphile-worker/together", 20, 30),
  p50("7", "runsync p50 against BullMQ always, 1 connection", "sqlite/runsync-1", "bullmq-always/runsync-1", 0.3, 0.2),
  p50("7", "runsync p50 against BullMQ always, 64", "sqlite/runsync-64", "bullmq-always/runsync-64", 0.15, 0.1),
  work("8", "on PostgreSQL: /run against BullMQ always", "postgres/submit", "bullmq-always/submit", 1.8, 2.5),
  work("8", "on PostgreSQL: submit to result", "postgres/together", "bullmq-always/together", 2.2, 3),
  work("8", "on PostgreSQL: runsync", "postgres/runsync-64", "bullmq-always/runsync-64", 3.5, 5),
  // Without a demand of their own: the same as rows 1, 2, 3 and 3b, on PostgreSQL.
  work("pg", "on PostgreSQL: /run against echo", "postgres/submit", "echo", 0, 0),
  work("pg", "on PostgreSQL: submit to result against echo", "postgres/together", "echo", 0, 0),
  work("pg", "on PostgreSQL: runsync against echo", "postgres/runsync-64", "echo", 0, 0),
  work("pg", "on PostgreSQL: one job per take against echo", "postgres/together-single", "echo", 0, 0),
  // The CPU time is that of the proxy and of the worker behind it; a direct connection has only the latter.
  work("lb", "through Millrace's proxy against direct", "lb-millrace/forward", "echo", 0, 0),
  work("lb", "through nginx against direct", "lb-nginx/forward", "echo", 0, 0),
  work("lb", "through Millrace's proxy against nginx", "lb-millrace/forward", "lb-nginx/forward", 0, 0),
];

export type Round = Partial<Record<Source, Measure>>;

/** Both ratios of one figure in one round: by CPU time, and by the clock on the wall. */
export function ratioIn(round: Round, { of, against, by }: Figure): { cpu: number; wall: number } | undefined {
  const [measured, standard] = [round[of], round[against]];
  if (!measured || !standard) return undefined;
  if (by === "p50") {
    const ratio = measured.latencyMs!.p50 / standard.latencyMs!.p50;
    return { cpu: ratio, wall: ratio };
  }
  return { cpu: measured.perCpuSecond / standard.perCpuSecond, wall: measured.rate / standard.rate };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
