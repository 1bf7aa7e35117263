/** Counts the requests to load-balancing endpoints on this node until the recorder takes the counts. Counting one allocates nothing. */
import { Histogram } from "../kernel/histogram.ts";

/** The counts of one endpoint. */
class EndpointRequests {
  total = 0;
  failed = 0;
  readonly delay = new Histogram();
  readonly execution = new Histogram();
}

export class RequestTally {
  #tallies = new Map<string, EndpointRequests>();

  /** Counts a request that a worker answered. An answer of 500 or above is a failure of the worker. */
  answered(endpoint: string, status: number, delayMs: number, executionMs: number): void {
    const tally = this.#of(endpoint);
    tally.total++;
    if (status >= 500) tally.failed++;
    tally.delay.add(delayMs);
    tally.execution.add(executionMs);
  }

  /** Counts a request that no worker took or answered to its end. */
  failed(endpoint: string): void {
    const tally = this.#of(endpoint);
    tally.total++;
    tally.failed++;
  }

  /** Returns the counts since the last call, by endpoint, and starts again from zero. */
  take(): Map<string, EndpointRequests> {
    const taken = this.#tallies;
    if (taken.size > 0) this.#tallies = new Map();
    return taken;
  }

  #of(endpoint: string): EndpointRequests {
    const known = this.#tallies.get(endpoint);
    if (known) return known;
    const made = new EndpointRequests();
    this.#tallies.set(endpoint, made);
    return made;
  }
}
