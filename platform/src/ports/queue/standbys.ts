/** Holders that stand by, and which new jobs begin for which of them. */
import { UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { type Job, jobLifecycle, type NewJob } from "./job.ts";
import type { Claimed, StandbyAsk } from "./queue.ts";

/** Jobs that are inserted as begun for one holder, unless another job of the endpoint waits. */
export interface Beginning {
  readonly ask: StandbyAsk;
  readonly now: number;
  readonly jobs: readonly NewJob[];
  /** Says which jobs the holder has now: these, or none. */
  settle(begun: Claimed[]): void;
}

/** After this many deals in a row for which nobody came, nobody is expected soon. */
const EXPECTED_FOR_DEALS = 10;

export class Standbys {
  readonly #asks = new Map<string, Set<StandbyAsk>>();
  #dealsWithout = EXPECTED_FOR_DEALS;

  /** Whether holders have come lately, so that others may come any moment. */
  get areExpected(): boolean {
    return this.#dealsWithout < EXPECTED_FOR_DEALS;
  }

  add(ask: StandbyAsk): () => void {
    this.#dealsWithout = 0;
    const asks = this.#asks.get(ask.endpoint) ?? new Set();
    this.#asks.set(ask.endpoint, asks.add(ask));
    return () => this.#remove(ask);
  }

  /** Deals new jobs out, normal priority before low. Holders get equal shares, those that have waited longest first. */
  deal(jobs: readonly NewJob[]): Beginning[] {
    this.#dealsWithout++;
    if (this.#asks.size === 0) return [];
    const beginnings: Beginning[] = [];
    for (const [endpoint, its] of byEndpoint(jobs)) {
      const asks = [...(this.#asks.get(endpoint) ?? [])].filter((ask) => ask.isOpen());
      const share = Math.ceil(its.length / new Set(asks.map(({ holder }) => holder)).size);
      let next = 0;
      for (const ask of asks) {
        const given = fitting(its, next, Math.min(ask.limit, share));
        // A job that does not fit waits, and so do those behind it.
        if (given.length === 0) break;
        next += given.length;
        beginnings.push(this.#begin(ask, given));
      }
    }
    return beginnings;
  }

  #begin(ask: StandbyAsk, jobs: readonly NewJob[]): Beginning {
    this.#remove(ask);
    const { promise, resolve } = Promise.withResolvers<Claimed[]>();
    ask.begin(promise);
    return { ask, now: ask.now(), jobs, settle: resolve };
  }

  #remove(ask: StandbyAsk): void {
    const asks = this.#asks.get(ask.endpoint);
    if (asks?.delete(ask) && asks.size === 0) this.#asks.delete(ask.endpoint);
  }
}

/** The job as its first holder gets it. */
export function begunAtOnce(job: Job, { ask: { holder }, now }: Pick<Beginning, "ask" | "now">): Job {
  const deadline = now + job.policy.executionTimeoutMs;
  return { ...job, state: jobLifecycle.to("claim"), holder, attempt: 1, spent: 1, startedAt: now, deadline };
}

function byEndpoint(jobs: readonly NewJob[]): Map<string, NewJob[]> {
  const found = new Map<string, NewJob[]>();
  for (const low of [false, true]) {
    for (const job of jobs) {
      if (job.policy.lowPriority !== low) continue;
      const its = found.get(job.endpoint);
      if (its) its.push(job);
      else found.set(job.endpoint, [job]);
    }
  }
  return found;
}

/** Bodies that are long together need memory, which a claim asks for. */
function fitting(jobs: readonly NewJob[], from: number, most: number): NewJob[] {
  const fit: NewJob[] = [];
  let bytes = 0;
  for (let at = from; at < jobs.length && fit.length < most; at++) {
    bytes += jobs[at]!.body.length;
    if (bytes > UNCOUNTED_BYTES) break;
    fit.push(jobs[at]!);
  }
  return fit;
}
