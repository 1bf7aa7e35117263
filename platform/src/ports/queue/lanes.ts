/** The waiting jobs of one endpoint, in the order in which they are handed out. */
import { Deque } from "./deque.ts";
import type { Job } from "./job.ts";
import type { LiveJob } from "./live-job.ts";

export class Lanes {
  /** The endpoint's name, which all its jobs share. The name in a request may be part of a longer text, and would keep that in memory. */
  readonly endpoint: string;
  readonly #normal = new Deque<LiveJob>();
  readonly #low = new Deque<LiveJob>();
  /** The jobs counted by the state that readers see, whether or not they are in a lane at the moment. */
  readonly counts = { inQueue: 0, lowPriorityInQueue: 0, inProgress: 0 };

  constructor(endpoint: string) {
    this.endpoint = Buffer.from(endpoint).toString();
  }

  /** Keeps the lane in the order of positions, as the journal is, whenever a job arrives. */
  put(job: LiveJob): void {
    const lane = job.policy.lowPriority ? this.#low : this.#normal;
    while (lane.first && !isWaiting(lane.first)) lane.shift();
    while (lane.last && !isWaiting(lane.last)) lane.pop();
    job.lane = "waiting";
    if (!lane.first || job.position < lane.first.position) lane.unshift(job);
    else if (job.position > lane.last!.position) lane.push(job);
    else putBetween(lane, job);
  }

  /** Takes the next waiting jobs, without those in `except`, up to the first that does not fit. */
  take(limit: number, except: readonly string[] = [], fits: (job: LiveJob) => boolean = () => true): LiveJob[] {
    const taken: LiveJob[] = [];
    const left: LiveJob[] = [];
    try {
      while (taken.length < limit) {
        const job = this.#next();
        if (!job) break;
        if (except.length > 0 && except.includes(job.id)) left.push(job);
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
      for (const job of left.reverse()) this.put(job);
    }
    return taken;
  }

  /** Skips entries of jobs that have moved on. */
  #next(): LiveJob | undefined {
    for (const lane of [this.#normal, this.#low]) {
      for (let job = lane.shift(); job; job = lane.shift()) {
        if (!isWaiting(job)) continue;
        job.lane = "out";
        return job;
      }
    }
    return undefined;
  }

  /** Jobs of normal priority, in the order in which they will be taken. */
  *waiting(): Generator<LiveJob> {
    while (this.#normal.first && !isWaiting(this.#normal.first)) this.#normal.shift();
    for (const job of this.#normal) if (job.lane === "waiting") yield job;
  }

  /** All waiting jobs of both priorities. This changes nothing. */
  *everyWaiting(): Generator<LiveJob> {
    for (const lane of [this.#normal, this.#low]) for (const job of lane) if (job.lane === "waiting") yield job;
  }

  /** Counts a job as it is shown now instead of as it was shown before; null means that it was not shown. */
  recount(before: Job | null, now: Pick<Job, "state" | "policy">): void {
    if (before) this.count(before, -1);
    this.count(now, 1);
  }

  count({ state, policy }: Pick<Job, "state" | "policy">, by: 1 | -1): void {
    if (state === "IN_PROGRESS") this.counts.inProgress += by;
    if (state !== "IN_QUEUE") return;
    this.counts.inQueue += by;
    if (policy.lowPriority) this.counts.lowPriorityInQueue += by;
  }
}

/** Asked about an entry that is about to leave its lane or be compared. An entry whose job had left the lane is dropped here. */
function isWaiting(job: LiveJob): boolean {
  if (job.lane === "left") job.lane = "out";
  return job.lane === "waiting";
}

/** This is rare. It happens when a job's change took longer than its neighbours', so the job belongs near one of the ends. */
function putBetween(lane: Deque<LiveJob>, job: LiveJob): void {
  const passed: LiveJob[] = [];
  if (job.position - lane.first!.position < lane.last!.position - job.position) {
    while (!isWaiting(lane.first!) || lane.first!.position < job.position) passed.push(lane.shift()!);
    lane.unshift(job);
    for (const other of passed.filter(isWaiting).reverse()) lane.unshift(other);
  } else {
    while (!isWaiting(lane.last!) || lane.last!.position > job.position) passed.push(lane.pop()!);
    lane.push(job);
    for (const other of passed.filter(isWaiting).reverse()) lane.push(other);
  }
}
