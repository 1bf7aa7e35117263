/** The live workers of each endpoint with the number of their jobs, gathered only if a plan asks for them. */
import { workerOf } from "../../../jobs/holder.ts";
import { isSilent } from "../../../jobs/silence.ts";
import type { HolderState } from "../../../ports/queue/queue.ts";

export interface LiveParts {
  holders: readonly HolderState[];
  /** The names under which the platform's own workers hold jobs. */
  own: ReadonlySet<string>;
  /** The requests of each worker of the load-balancing endpoints, by endpoint. */
  balanced: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

const NO_JOBS: ReadonlyMap<string, number> = new Map();

export class LiveWorkers {
  readonly #parts: LiveParts;
  /** Endpoints that have workers whom the platform did not start for them. */
  readonly withStrangers: ReadonlySet<string>;
  #byEndpoint: Map<string, Map<string, number>> | undefined;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    const strangers = new Set<string>();
    for (const { holder, endpoint } of parts.holders) if (!parts.own.has(holder)) strangers.add(endpoint);
    this.withStrangers = strangers;
  }

  /** The number of jobs of each live worker of an endpoint. */
  jobsOf(endpoint: string): ReadonlyMap<string, number> {
    const balanced = this.#parts.balanced.get(endpoint);
    if (balanced) return balanced;
    this.#byEndpoint ??= this.#gathered();
    return this.#byEndpoint.get(endpoint) ?? NO_JOBS;
  }

  #gathered(): Map<string, Map<string, number>> {
    const { holders, own } = this.#parts;
    const gathered = new Map<string, Map<string, number>>();
    for (const one of holders) {
      // The platform's workers have their hindrance on record. Other workers are not counted on while they are silent.
      if (isSilent(one) && !own.has(one.holder)) continue;
      const worker = workerOf(one.holder);
      const known = gathered.get(one.endpoint);
      if (known) known.set(worker, one.jobs);
      else gathered.set(one.endpoint, new Map([[worker, one.jobs]]));
    }
    return gathered;
  }
}
