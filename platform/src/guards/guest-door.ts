/** What a guest of a shared endpoint may submit: within the limits that its owner set, and as long as its own account can pay. */
import type { Caller } from "../kernel/caller.ts";
import type { Clock } from "../kernel/clock.ts";
import { problem } from "../kernel/problem.ts";
import { Remembered } from "../kernel/remembered.ts";
import { type Counter, judge } from "../ports/limits/limits.ts";
import type { Fare } from "../ports/queue/job.ts";
import type { CallerCounts, Queue } from "../ports/queue/queue.ts";

const WINDOW_S = 60;
/** How old the number of a guest's jobs may be. Those that were admitted since are added. */
const COUNTED_MS = 500;

interface Guest {
  name: string;
  fare: Fare;
  limits: { requestsPerMinute: number; jobsAtOnce: number };
}

interface Counted {
  jobs: number;
}

export interface GuestDoorParts {
  queue: Pick<Queue, "callers">;
  clock: Clock;
  /** Throws if the account has nothing left to spend, once it owes this much (in 1e-9 USD) for what is under way. */
  assertPaid: (account: string, key: string, owed: bigint) => Promise<void>;
}

/** Counts in this process. Each of several nodes allows the full number of requests. */
export class GuestDoor {
  readonly #parts: GuestDoorParts;
  readonly #requests: Remembered<Counter[]>;
  readonly #jobs: Remembered<Promise<Counted>>;
  /** Requests to load-balanced workers that wait or run. */
  readonly #open = new Map<string, number>();

  constructor(parts: GuestDoorParts) {
    this.#parts = parts;
    this.#requests = new Remembered(parts.clock, WINDOW_S * 1000);
    this.#jobs = new Remembered(parts.clock, COUNTED_MS);
  }

  async admit({ account, key }: Caller, endpoint: string, { name, fare, limits }: Guest): Promise<void> {
    const who = `${name} ${account}`;
    const isCounted = limits.jobsAtOnce > 0 || fare.perRequest > 0;
    const counted = isCounted ? await this.#countedOf(who, { endpoint, account }) : { jobs: 0 };
    if (limits.jobsAtOnce > 0 && counted.jobs >= limits.jobsAtOnce) throw tooMany("jobs", limits.jobsAtOnce);
    // The job counts before anything is waited for, so that of many at once each sees those before it.
    const before = counted.jobs++;
    try {
      if (costs(fare)) await this.#parts.assertPaid(account, key, owedFor(before, fare));
      if (limits.requestsPerMinute > 0) this.#countRequest(who, limits.requestsPerMinute);
    } catch (error) {
      counted.jobs--;
      throw error;
    }
  }

  /** The same for a request to a load-balanced worker, which counts as a job until the returned function is called. */
  async enter({ account, key }: Caller, { name, fare, limits }: Guest): Promise<() => void> {
    const who = `${name} ${account}`;
    const open = this.#open.get(who) ?? 0;
    if (limits.jobsAtOnce > 0 && open >= limits.jobsAtOnce) throw tooMany("requests", limits.jobsAtOnce);
    this.#open.set(who, open + 1);
    try {
      if (costs(fare)) await this.#parts.assertPaid(account, key, owedFor(open, fare));
      if (limits.requestsPerMinute > 0) this.#countRequest(who, limits.requestsPerMinute);
    } catch (error) {
      this.#left(who);
      throw error;
    }
    return () => this.#left(who);
  }

  #left(who: string): void {
    const open = this.#open.get(who)! - 1;
    if (open > 0) this.#open.set(who, open);
    else this.#open.delete(who);
  }

  #countRequest(who: string, quota: number): void {
    const window = [{ name: "submit", quota, seconds: WINDOW_S }];
    const { verdict, counters } = judge(window, this.#requests.get(who) ?? [], this.#parts.clock.monotonic());
    this.#requests.set(who, counters);
    if (verdict.allowed) return;
    const seconds = Math.max(1, Math.ceil(verdict.windows[0]!.resetMs / 1000));
    const why = `rate limit exceeded: each account may submit ${quota} requests in a minute to this endpoint`;
    throw problem("too-much", `${why}; try again in ${seconds} s`, { retryAfterS: seconds, reason: "rate-limited" });
  }

  #countedOf(who: string, { endpoint, account }: { endpoint: string; account: string }): Promise<Counted> {
    const known = this.#jobs.get(who);
    if (known) return known;
    const counted = this.#parts.queue.callers(endpoint).then((all) => ({ jobs: jobsOf(all, account) }));
    this.#jobs.set(who, counted);
    counted.catch(() => this.#jobs.delete(who));
    return counted;
  }
}

const tooMany = (what: string, most: number) =>
  problem("too-much", `too many ${what} at once: each account may have ${most} waiting or running here`, {
    ...{ retryAfterS: 1, reason: "too-many-at-once" },
  });

function jobsOf(all: readonly CallerCounts[], account: string): number {
  const its = all.find(({ caller }) => caller === account);
  return its ? its.inQueue + its.inProgress : 0;
}

/** What jobs that wait or run will owe at least. Otherwise an account with a dollar left could submit a thousand at a dollar each. */
const owedFor = (jobs: number, { perRequest }: Fare) => BigInt(jobs) * BigInt(perRequest);

const costs = ({ perRequest, perSecond, perMillionInputTokens, perMillionOutputTokens }: Fare) =>
  perRequest + perSecond + perMillionInputTokens + perMillionOutputTokens > 0;
