/** The metrics of the node that answers: what it counted, and what it holds now. */
import type { BodyMemory } from "../../kernel/body-memory.ts";
import type { CallTime } from "../../kernel/call-times.ts";
import type { Duties, DutyStanding } from "../../kernel/duties.ts";
import type { EventLoopWatch } from "../../kernel/event-loop.ts";
import type { Instruments } from "../../kernel/instruments.ts";
import type { DiskRoom } from "../../ports/disk.ts";
import type { ProcessFigures } from "./process-figures.ts";
import type { Sample, Samples } from "./text.ts";

export interface NodeParts {
  instruments: Instruments;
  duties: Pick<Duties, "all">;
  memory: Pick<BodyMemory, "held" | "total" | "waiting">;
  connections: () => { open: number; most: number };
  /** Why the server accepts nothing new, or undefined if it does. */
  refusal?: (() => unknown) | undefined;
  /** How far the node's clock is ahead of the database's, or undefined if that is not known. */
  clockAheadMs?: (() => number | undefined) | undefined;
  loop: EventLoopWatch;
  /** When the process started. It must stay the same: whoever counts restarts counts its changes. */
  startedAt: number;
  node: { id: string; version?: string | undefined };
}

/** What has to be read from the system, and is missing where it cannot be read. */
export interface SystemFigures {
  process: ProcessFigures;
  disk: DiskRoom | undefined;
}

/** The program names its duties, and there are about forty. More would be a fault of the program, which must not become one of Prometheus. */
const MOST_DUTIES = 200;

export function nodeSamples(parts: NodeParts, { process, disk }: SystemFigures): Samples {
  const { instruments, memory, node, loop } = parts;
  const { open, most } = parts.connections();
  const late = loop.read();
  return {
    millrace_info: [[{ version: node.version ?? "", node: node.id }, 1]],
    ...requestSamples(instruments),
    millrace_connections_open: one(open),
    millrace_connections_limit: one(most),
    millrace_bodies_held_bytes: one(memory.held),
    millrace_bodies_limit_bytes: one(memory.total),
    millrace_bodies_waiting: one(memory.waiting),
    ...jobSamples(instruments),
    ...startSamples(instruments),
    millrace_store_call_duration_seconds: instruments.store.all.map(({ call, durations }) => [{ call }, durations]),
    millrace_store_call_failures_total: instruments.store.all.map(failuresOf),
    millrace_queue_call_duration_seconds: instruments.queue.all.map(({ call, durations }) => [{ call }, durations]),
    millrace_queue_call_failures_total: instruments.queue.all.map(failuresOf),
    millrace_event_loop_delay_seconds: [
      [{ part: "median" }, late.p50],
      [{ part: "p99" }, late.p99],
      [{ part: "longest" }, late.longest],
    ],
    millrace_event_loop_utilization: one(late.utilization),
    ...dutySamples(parts.duties.all().slice(0, MOST_DUTIES)),
    millrace_clock_ahead_seconds: clockSamples(parts.clockAheadMs?.()),
    millrace_accepts_work: one(parts.refusal?.() === undefined ? 1 : 0),
    ...(disk && {
      millrace_data_disk_free_bytes: one(disk.freeBytes),
      millrace_data_disk_bytes: one(disk.totalBytes),
    }),
    millrace_audit_lines_total: [
      [{ result: "written" }, instruments.auditLines.written],
      [{ result: "lost" }, instruments.auditLines.lost],
    ],
    millrace_trace_spans_total: [
      [{ result: "sent" }, instruments.spans.sent],
      [{ result: "dropped" }, instruments.spans.dropped],
    ],
    process_cpu_seconds_total: one(process.cpuSeconds),
    process_resident_memory_bytes: one(process.residentBytes),
    nodejs_heap_size_used_bytes: one(process.heapBytes),
    process_open_fds: process.openFiles === undefined ? [] : one(process.openFiles),
    process_start_time_seconds: one(parts.startedAt / 1000),
  };
}

const one = (value: number): Sample[] => [[{}, value]];

const failuresOf = ({ call, failures }: CallTime): Sample => [{ call }, failures];

const clockSamples = (aheadMs: number | undefined): Sample[] => (aheadMs === undefined ? [] : one(aheadMs / 1000));

function requestSamples({ requests }: Instruments): Samples {
  const all = requests.all();
  return {
    millrace_http_requests_total: all.flatMap(({ method, route, statuses }) =>
      statuses.map(([status, count]): Sample => [{ method, route, status }, count]),
    ),
    millrace_http_request_duration_seconds: all.map(({ method, route, durations }) => [{ method, route }, durations]),
  };
}

function jobSamples({ jobs }: Instruments): Samples {
  return {
    millrace_jobs_submitted_total: one(jobs.submitted),
    millrace_jobs_ended_total: Object.entries(jobs.ended).map(([state, count]) => [{ state }, count]),
    millrace_jobs_retried_total: one(jobs.retried),
    millrace_job_delay_seconds: [[{}, jobs.delay]],
    millrace_job_execution_seconds: [[{}, jobs.execution]],
  };
}

function startSamples({ starts }: Instruments): Samples {
  return {
    millrace_starts_total: [
      [{ result: "started" }, starts.started],
      [{ result: "failed" }, starts.failed],
    ],
    millrace_start_part_seconds: [...starts.parts()].map(([part, durations]) => [{ part }, durations]),
  };
}

function dutySamples(duties: readonly DutyStanding[]): Samples {
  const each = (of: (duty: DutyStanding) => number | undefined): Sample[] =>
    duties.flatMap((duty) => {
      const value = of(duty);
      return value === undefined ? [] : [[{ duty: duty.name }, value] as const];
    });
  const inSeconds = (ms: number | undefined) => ms !== undefined && ms / 1000;
  return {
    millrace_duty_interval_seconds: each(({ everyMs }) => inSeconds(everyMs) || undefined),
    millrace_duty_last_success_timestamp_seconds: each(({ goodAt }) => inSeconds(goodAt) || undefined),
    millrace_duty_last_run_seconds: each(({ last }) => last && last.tookMs / 1000),
    millrace_duty_running_seconds: each(({ everyMs, running }) => everyMs && (running?.forMs ?? 0) / 1000),
    millrace_duty_longest_seconds: each(({ longestMs }) => inSeconds(longestMs) || undefined),
    millrace_duty_failures_in_row: each(({ failuresInRow }) => failuresInRow),
  };
}
