/** Worker boots in memory: until when each counts as alive, by a clock that nobody can set, and which jobs it has. */
import type { Clock } from "../../kernel/clock.ts";
import type { Job } from "./job.ts";
import { type LiveJob, snapshot } from "./live-job.ts";
import type { Due, DueReason, HolderState } from "./queue.ts";

/** After a start of the server, workers have this long to report before their jobs are given to others. */
const GRACE_MS = 30_000;

export type MonotonicClock = Pick<Clock, "monotonic">;

interface Holder {
  endpoint: string;
  until: number;
  jobs: Set<LiveJob>;
}

export class HolderBook {
  readonly #holders = new Map<string, Holder>();
  readonly #clock: MonotonicClock;
  /** No holder's time is over before this moment, so until then nobody has to look for one. */
  #lapsesAt = Number.NEGATIVE_INFINITY;

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  renew(name: string, endpoint: string, forMs: number): void {
    const until = this.#clock.monotonic() + forMs;
    this.#holderOf(name, endpoint).until = until;
    this.#lapsesAt = Math.min(this.#lapsesAt, until);
  }

  giveGrace({ holder, endpoint }: LiveJob): void {
    if (holder !== undefined) this.renew(holder, endpoint, GRACE_MS);
  }

  retire(name: string): void {
    const holder = this.#holders.get(name);
    if (!holder) return;
    holder.until = Number.NEGATIVE_INFINITY;
    this.#lapsesAt = Number.NEGATIVE_INFINITY;
  }

  /** Records that the job's holder has it now. */
  add(job: LiveJob): void {
    if (job.holder !== undefined) this.#holderOf(job.holder, job.endpoint).jobs.add(job);
  }

  remove(job: LiveJob): void {
    if (job.holder !== undefined) this.#holders.get(job.holder)?.jobs.delete(job);
  }

  alive(of?: string): HolderState[] {
    const now = this.#clock.monotonic();
    const alive: HolderState[] = [];
    for (const [holder, { endpoint, until, jobs }] of this.#holders) {
      if (until > now && (of === undefined || of === endpoint))
        alive.push({ holder, endpoint, jobs: jobs.size, leftMs: until - now });
    }
    return alive;
  }

  held(name: string): Job[] {
    return [...(this.#holders.get(name)?.jobs ?? [])].map(snapshot);
  }

  /** Yields the jobs of holders whose time is over. Holders without jobs are forgotten. */
  *lapsed(): Generator<LiveJob> {
    const now = this.#clock.monotonic();
    if (this.#lapsesAt > now) return;
    // A caller that has enough jobs ends this early. Then the moment stays in the past, and the next caller looks again.
    this.#lapsesAt = Number.NEGATIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const [name, { until, jobs }] of this.#holders) {
      if (until <= now) yield* jobs;
      if (until <= now && jobs.size === 0) this.#holders.delete(name);
      else next = Math.min(next, until);
    }
    this.#lapsesAt = next;
  }

  removeEndpoint(endpoint: string): void {
    for (const [name, holder] of this.#holders) if (holder.endpoint === endpoint) this.#holders.delete(name);
  }

  /** Forgets which jobs the holders have, but not which holders are alive. */
  forgetJobs(): void {
    for (const { jobs } of this.#holders.values()) jobs.clear();
  }

  #holderOf(name: string, endpoint: string): Holder {
    let holder = this.#holders.get(name);
    if (!holder) {
      holder = { endpoint, until: Number.NEGATIVE_INFINITY, jobs: new Set() };
      this.#holders.set(name, holder);
      this.#lapsesAt = Number.NEGATIVE_INFINITY;
    }
    return holder;
  }
}

/** Returns the jobs that ran out of time, then those whose holder is gone. None appears twice, and none that is being changed. */
export function dueJobs(overdue: Iterable<LiveJob>, abandoned: Iterable<LiveJob>, now: number, limit: number): Due[] {
  const due = new Map<LiveJob, DueReason>();
  for (const job of overdue) if (job.pending === 0) due.set(job, job.ttlAt <= now ? "ttl" : "execution");
  for (const job of abandoned) {
    if (due.size >= limit) break;
    if (job.pending === 0 && !due.has(job)) due.set(job, "holder");
  }
  return [...due].map(([job, why]) => ({ job: snapshot(job), why }));
}
