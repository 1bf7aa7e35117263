/** The waiting jobs of one endpoint, in the order in which they are handed out. */
import type { Job } from "./job.ts";
import { Lane } from "./lane.ts";
import type { LiveJob } from "./live-job.ts";
import type { Ask, CallerCounts } from "./queue.ts";

type Counted = Pick<Job, "state" | "policy" | "caller">;

type Taking = Pick<Ask, "limit" | "except" | "inTurns" | "of">;

export class Lanes {
  /** The endpoint's name, which all its jobs share. The name in a request may be part of a longer text, and would keep that in memory. */
  readonly endpoint: string;
  readonly #normal = new Lane();
  readonly #low = new Lane();
  /** The jobs counted by the state that readers see, whether or not they are in a lane at the moment. */
  readonly counts = { inQueue: 0, lowPriorityInQueue: 0, inProgress: 0 };
  readonly #callers = new Map<string, CallerCounts>();

  constructor(endpoint: string) {
    this.endpoint = Buffer.from(endpoint).toString();
  }

  put(job: LiveJob): void {
    this.#laneOf(job).put(job);
  }

  /** Takes the next waiting jobs, without those in `except`, up to the first that does not fit. */
  take({ limit, except = [], inTurns = false, of }: Taking, fits: (job: LiveJob) => boolean): LiveJob[] {
    const taken: LiveJob[] = [];
    const left: LiveJob[] = [];
    // A busy worker lists a hundred jobs that it is at.
    const excepted = except.length > 0 ? new Set(except) : undefined;
    try {
      while (taken.length < limit) {
        const job = this.#normal.next(inTurns, of) ?? this.#low.next(inTurns, of);
        if (!job) break;
        if (excepted?.has(job.id)) left.push(job);
        else {
          taken.push(job);
          if (fits(job)) continue;
          left.push(taken.pop()!);
          break;
        }
      }
    } catch (error) {
      left.push(...taken);
      throw error;
    } finally {
      for (const job of left.reverse()) this.#laneOf(job).putBack(job);
    }
    return taken;
  }

  /** Jobs of normal priority, in the order in which they will be taken. */
  *waiting(): Generator<LiveJob> {
    this.#normal.trim();
    yield* this.#normal;
  }

  /** All waiting jobs of both priorities. This changes nothing. */
  *everyWaiting(): Generator<LiveJob> {
    yield* this.#normal;
    yield* this.#low;
  }

  /** Callers with waiting or running jobs, sorted by name. */
  callers(): CallerCounts[] {
    return [...this.#callers.values()].map((one) => ({ ...one })).sort((a, b) => (a.caller < b.caller ? -1 : 1));
  }

  /** Counts a job as it is shown now instead of as it was shown before; null means that it was not shown. */
  recount(before: Job | null, now: Counted): void {
    if (before) this.count(before, -1);
    this.count(now, 1);
  }

  count({ state, policy, caller }: Counted, by: 1 | -1): void {
    if (state !== "IN_PROGRESS" && state !== "IN_QUEUE") return;
    if (caller !== undefined) this.#countOf(caller, state, by);
    if (state === "IN_PROGRESS") {
      this.counts.inProgress += by;
      return;
    }
    this.counts.inQueue += by;
    if (policy.lowPriority) this.counts.lowPriorityInQueue += by;
  }

  #countOf(caller: string, state: "IN_QUEUE" | "IN_PROGRESS", by: 1 | -1): void {
    const its = this.#callers.get(caller) ?? { caller, inQueue: 0, inProgress: 0 };
    its[state === "IN_QUEUE" ? "inQueue" : "inProgress"] += by;
    if (its.inQueue === 0 && its.inProgress === 0) this.#callers.delete(caller);
    else this.#callers.set(caller, its);
  }

  #laneOf({ policy }: LiveJob): Lane {
    return policy.lowPriority ? this.#low : this.#normal;
  }
}
