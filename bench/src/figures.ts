/** The figures to report, each from two measurements of one round. */
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
  | "lb-nginx"
  | "lb-direct"
  | "pod-proxy";

export type Source = "echo" | `${StackName}/${PhaseName}`;

export interface Figure {
  row: string;
  name: string;
  of: Source;
  against: Source;
  /** `work` compares how much is done, `p50` how long it takes (less is better), and `added` how many milliseconds longer it takes. */
  by: "work" | "p50" | "added";
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

const added = (row: string, name: string, of: Source, against: Source, atLeast: number, aim: number): Figure => ({
  row,
  name,
  of,
  against,
  by: "added",
  atLeast,
  aim,
});

export const figures: Figure[] = [
  work("1", "/run accepted against echo", "sqlite/submit", "echo", 0.76, 0.85),
  work("2", "submit to result against echo, our worker library", "sqlite/together", "echo", 0.5, 0.6),
  work("3", "runsync at 64 connections against echo", "sqlite/runsync-64", "echo", 0.42, 0.5),
  work("3b", "submit to result against echo, one job per take", "sqlite/together-single", "echo", 0.16, 0.2),
  work("4", "/run against BullMQ always", "sqlite/submit", "bullmq-always/submit", 2.5, 3.5),
  work("4", "submit to result against BullMQ always", "sqlite/together", "bullmq-always/together", 3, 4),
  work("4", "runsync against BullMQ always", "sqlite/runsync-64", "bullmq-always/runsync-64", 5, 7),
  // Automatic pipelining is an option of ioredis that BullMQ does not document and whose use its maintainer doubts. It is shown but has no
  // target.
  work("4", "/run against BullMQ always, pipelined", "sqlite/submit", "bullmq-pipelined/submit", 0, 0),
  work("4", "submit to result against the same", "sqlite/together", "bullmq-pipelined/together", 0, 0),
  work("4", "runsync against the same", "sqlite/runsync-64", "bullmq-pipelined/runsync-64", 0, 0),
  work("5", "/run against BullMQ everysec", "sqlite/submit", "bullmq-everysec/submit", 2, 3),
  work("5", "submit to result against BullMQ everysec", "sqlite/together", "bullmq-everysec/together", 3, 4),
  work("5", "runsync against BullMQ everysec", "sqlite/runsync-64", "bullmq-everysec/runsync-64", 4, 6),
  work("6", "submit to result against pg-boss", "sqlite/together", "pg-boss/together", 10, 20),
  work("6", "submit to result against graphile-worker", "sqlite/together", "graphile-worker/together", 10, 16),
  p50("7", "runsync p50 against BullMQ always, 1 connection", "sqlite/runsync-1", "bullmq-always/runsync-1", 0.5, 0.4),
  p50("7", "runsync p50 against BullMQ always, 64", "sqlite/runsync-64", "bullmq-always/runsync-64", 0.2, 0.15),
  work("8", "on PostgreSQL: /run against echo", "postgres/submit", "echo", 0.55, 0.65),
  work("8", "on PostgreSQL: submit to result against echo", "postgres/together", "echo", 0.28, 0.35),
  work("8", "on PostgreSQL: runsync against echo", "postgres/runsync-64", "echo", 0.24, 0.3),
  // Row 3b on PostgreSQL has no target.
  work("8", "on PostgreSQL: one job per take against echo", "postgres/together-single", "echo", 0, 0),
  // The CPU time is that of the proxy and the worker behind it. A direct connection has only the worker's.
  work("13", "through Millrace's proxy against direct", "lb-millrace/forward", "echo", 0, 0),
  work("13", "through nginx against direct", "lb-nginx/forward", "echo", 0, 0),
  work("13", "through Millrace's proxy against nginx", "lb-millrace/forward", "lb-nginx/forward", 0.5, 0.6),
  added("13", "added to p50 by Millrace's proxy, ms", "lb-millrace/forward-1", "lb-direct/forward-1", 0.35, 0.3),
  added("13", "added to a request's p50 by nginx, ms", "lb-nginx/forward-1", "lb-direct/forward-1", 0, 0),
  work("17", "a Pod's HTTP port through the proxy against direct", "pod-proxy/forward", "echo", 0, 0),
  added(
    "17",
    "added to a request's p50 by the way to a Pod, ms",
    "pod-proxy/forward-1",
    "lb-direct/forward-1",
    0.35,
    0.3,
  ),
];

export type Round = Partial<Record<Source, Measure>>;

/** One figure in one round, by CPU time and by wall clock. */
export function ratioIn(round: Round, { of, against, by }: Figure): { cpu: number; wall: number } | undefined {
  const [measured, standard] = [round[of], round[against]];
  if (!measured || !standard) return undefined;
  if (by !== "work") {
    const [one, other] = [measured.latencyMs!.p50, standard.latencyMs!.p50];
    const compared = by === "p50" ? one / other : one - other;
    return { cpu: compared, wall: compared };
  }
  return { cpu: measured.perCpuSecond / standard.perCpuSecond, wall: measured.rate / standard.rate };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
