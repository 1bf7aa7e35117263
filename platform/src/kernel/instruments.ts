/** What a server counts about its own work, for /metrics. */
import { CallTimes } from "./call-times.ts";
import type { Clock } from "./clock.ts";
import { Durations, LONG_BOUNDS_MS } from "./durations.ts";
import { RequestCounts } from "./request-counts.ts";

/** The jobs that this node saw, of all endpoints together. */
export class JobCounts {
  submitted = 0;
  retried = 0;
  /** By the state in which they ended. */
  readonly ended: Record<string, number> = { COMPLETED: 0, FAILED: 0, TIMED_OUT: 0, CANCELLED: 0 };
  /** From the queue to a worker, and from there to the end. */
  readonly delay = new Durations(LONG_BOUNDS_MS);
  readonly execution = new Durations(LONG_BOUNDS_MS);
}

/** The starts of instances on this node's machines. */
class StartCounts {
  started = 0;
  failed = 0;
  readonly #parts = new Map<string, Durations>();

  /** The driver accepted a program. */
  began({ placed, prepared, created }: { placed: number; prepared: number; created: number }): void {
    this.started++;
    this.note("image", prepared - placed);
    this.note("create", created - prepared);
  }

  /** `part` is a word of the program. */
  note(part: string, ms: number): void {
    const durations = this.#parts.get(part) ?? new Durations(LONG_BOUNDS_MS);
    this.#parts.set(part, durations);
    durations.note(ms);
  }

  parts(): ReadonlyMap<string, Durations> {
    return this.#parts;
  }
}

export class Instruments {
  readonly requests = new RequestCounts();
  readonly jobs = new JobCounts();
  readonly starts = new StartCounts();
  /** Lines of the audit log for a file or syslog. */
  readonly auditLines = { written: 0, lost: 0 };
  /** Spans of traces. */
  readonly spans = { sent: 0, dropped: 0 };
  readonly store: CallTimes;
  readonly queue: CallTimes;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.store = new CallTimes(clock);
    this.queue = new CallTimes(clock);
  }
}
