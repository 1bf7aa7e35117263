/** Which series of an endpoint's history are drawn together. */
import type { Series } from "../../design/chart.tsx";
import { RANGES, type Range } from "../../parts/time-range.tsx";

export interface ChartShape {
  title: string;
  format: "count" | "time" | "percent";
  lines: Series[];
}

type History = Readonly<Record<string, readonly (number | null)[] | undefined>>;

export function chartsOf(series: History, isQueue: boolean): ChartShape[] {
  const line = (name: string, label: string, color: Series["color"], look: Partial<Series> = {}): Series => ({
    label,
    values: series[name] ?? [],
    color,
    ...look,
  });
  const workers: ChartShape = {
    title: "Workers",
    format: "count",
    lines: [
      line("workersRunning", isQueue ? "With jobs" : "With requests", 1, { isFilled: true }),
      line("workersIdle", "Idle", 5),
      line("workersInitializing", "Starting", 3),
      line("workersThrottled", "Waiting for room", 2),
      line("workersUnhealthy", "Unhealthy", 4),
    ],
  };
  const use: ChartShape = {
    title: "Use of workers",
    format: "percent",
    lines: [
      line("gpu", "GPU", 1),
      line("gpuMemory", "GPU memory", 3),
      line("cpu", "CPU", 2),
      line("memory", "Memory", 5),
    ],
  };
  const times: ChartShape[] = [
    {
      title: isQueue ? "Delay before a job starts" : "Wait for a worker",
      format: "time",
      lines: [line("delayP50", "Median", 1), line("delayP95", "p95", 2)],
    },
    {
      title: isQueue ? "Execution" : "Time to answer",
      format: "time",
      lines: [line("executionP50", "Median", 1), line("executionP95", "p95", 2)],
    },
  ];
  if (!isQueue) {
    const requests: ChartShape = {
      title: "Requests",
      format: "count",
      lines: [line("requests", "All", 5, { isBars: true }), line("requestsFailed", "Failed", 4, { isBars: true })],
    };
    return [requests, workers, ...times, use];
  }
  return [
    {
      title: "Queue",
      format: "count",
      lines: [
        line("jobsInQueueMost", "Most in the queue", 3),
        line("jobsInQueue", "In the queue", 2, { isFilled: true }),
        line("jobsInProgress", "In progress", 1),
      ],
    },
    workers,
    {
      title: "Ended jobs",
      format: "count",
      lines: [
        line("jobsCompleted", "Completed", 5, { isBars: true }),
        line("jobsFailed", "Failed", 4, { isBars: true }),
        line("jobsRetried", "Retried", 2),
      ],
    },
    ...times,
    use,
  ];
}

/** Whether nothing was ever known of any of the lines. */
export const isBlank = (lines: readonly Series[]) =>
  lines.every(({ values }) => values.every((value) => value === null));

const SECONDS: Record<Range, number> = { "1h": 3600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000 };

/** The shortest range that shows what was chosen, and where it ends. A choice at the end of the chart follows the time. */
export function zoomedTo(from: number, to: number, now: number): { range: Range; end: string | undefined } {
  const range = RANGES.find((one) => SECONDS[one] >= to - from) ?? "30d";
  // What was chosen stands in the middle of its range, as far as there is time after it.
  const end = Math.round((from + to + SECONDS[range]) / 2);
  return { range, end: end >= now ? undefined : new Date(end * 1000).toISOString() };
}
