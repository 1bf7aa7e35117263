/** Counts ended and retried jobs on this node until the recorder takes the counts. Counting a job allocates nothing. */
import { Histogram } from "../kernel/histogram.ts";
import { JobCounts } from "../kernel/instruments.ts";
import type { Job } from "../ports/queue/job.ts";

/** The counts of one endpoint. */
class EndpointTally {
  completed = 0;
  failed = 0;
  retried = 0;
  readonly delay = new Histogram();
  readonly execution = new Histogram();
}

export class JobTally {
  #tallies = new Map<string, EndpointTally>();
  /** The counts of all endpoints together, which only ever grow. */
  readonly #all: JobCounts;

  constructor(all = new JobCounts()) {
    this.#all = all;
  }

  submitted(count: number): void {
    this.#all.submitted += count;
  }

  /** Counts an ended job. A cancelled job counts as neither completed nor failed. */
  ended({ endpoint, state, startedAt, queuedAt, endedAt }: Job): void {
    this.#all.ended[state]!++;
    if (state === "CANCELLED") return;
    const tally = this.#of(endpoint);
    if (state === "COMPLETED") tally.completed++;
    else tally.failed++;
    if (startedAt === undefined) return;
    const [delayMs, tookMs] = [startedAt - queuedAt, (endedAt ?? startedAt) - startedAt];
    tally.delay.add(delayMs);
    tally.execution.add(tookMs);
    this.#all.delay.note(delayMs);
    this.#all.execution.note(tookMs);
  }

  /** Counts a job that went back to the queue for another attempt. */
  retried(endpoint: string): void {
    this.#of(endpoint).retried++;
    this.#all.retried++;
  }

  /** Returns the counts since the last call, by endpoint, and starts again from zero. */
  take(): Map<string, EndpointTally> {
    const taken = this.#tallies;
    if (taken.size > 0) this.#tallies = new Map();
    return taken;
  }

  #of(endpoint: string): EndpointTally {
    const known = this.#tallies.get(endpoint);
    if (known) return known;
    const made = new EndpointTally();
    this.#tallies.set(endpoint, made);
    return made;
  }
}
