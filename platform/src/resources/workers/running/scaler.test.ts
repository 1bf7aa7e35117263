/** When workers are added and when idle ones end, in single decisions and over whole traces of load. */
import { describe, expect, test } from "vitest";
import { SeededRandom } from "../../../kernel/random.ts";
import type { Scaling } from "../../endpoints/model.ts";
import {
  type Headcount,
  type Idle,
  idleTimeoutOf,
  idleTooLong,
  type ScalingPolicy,
  type Workload,
  wantedWorkers,
} from "./scaler.ts";

const BY_DELAY: Scaling = { type: "QUEUE_DELAY", queueDelay: 4 };
const BY_COUNT: Scaling = { type: "REQUEST_COUNT", requestCount: 4 };
const NOBODY: Headcount = { starting: 0, ready: 0, idle: 0 };
const NOTHING: Workload = { waiting: 0, lowPriorityWaiting: 0, inProgress: 0, waitingSince: [] };
const NOW = 100_000;

function policy(changes: Partial<ScalingPolicy> = {}): ScalingPolicy {
  return { min: 0, max: 3, idleTimeoutMs: 10_000, scaling: BY_DELAY, ...changes };
}

/** Jobs that have waited for this many seconds each. */
function waited(...seconds: number[]): Workload {
  return { ...NOTHING, waiting: seconds.length, waitingSince: seconds.map((s) => NOW - s * 1000) };
}

describe("scaling by the delay of the queue", () => {
  test("the first job at zero workers starts one at once", () => {
    expect(wantedWorkers(policy(), waited(0), NOBODY, NOW)).toBe(1);
  });

  test("many jobs at once start one worker, and more only when they have waited", () => {
    expect(wantedWorkers(policy(), waited(0, 0, 0), NOBODY, NOW)).toBe(1);
    expect(wantedWorkers(policy(), waited(3, 3, 3), { starting: 1, ready: 0, idle: 0 }, NOW)).toBe(1);
  });

  test("each job that has waited too long adds a worker, unless one is on its way for it", () => {
    const busy = { starting: 0, ready: 1, idle: 0 };
    expect(wantedWorkers(policy(), waited(5, 4, 1), busy, NOW)).toBe(3);
    expect(wantedWorkers(policy(), waited(5, 4, 1), { ...busy, starting: 1 }, NOW)).toBe(3);
    expect(wantedWorkers(policy(), waited(5, 4, 1), { ...busy, starting: 2 }, NOW)).toBe(3);
  });

  test("an idle worker is about to take a job and needs no help", () => {
    expect(wantedWorkers(policy(), waited(5), { starting: 0, ready: 1, idle: 1 }, NOW)).toBe(1);
  });

  test("low-priority jobs start nobody", () => {
    expect(wantedWorkers(policy(), { ...NOTHING, lowPriorityWaiting: 9 }, NOBODY, NOW)).toBe(0);
  });

  test("never above max, never below min", () => {
    expect(wantedWorkers(policy(), waited(9, 9, 9, 9, 9), NOBODY, NOW)).toBe(3);
    expect(wantedWorkers(policy({ min: 2 }), NOTHING, NOBODY, NOW)).toBe(2);
  });

  test("max 0 means paused", () => {
    expect(wantedWorkers(policy({ max: 0 }), waited(9), NOBODY, NOW)).toBe(0);
  });
});

describe("scaling by the count of requests", () => {
  const counted = policy({ scaling: BY_COUNT, max: 10 });

  test.each([
    [0, 0, 0],
    [1, 0, 1],
    [4, 0, 1],
    [4, 1, 2],
    [0, 9, 3],
    [90, 9, 10],
  ])("%i waiting and %i running want %i workers", (waiting, inProgress, wanted) => {
    expect(wantedWorkers(counted, { ...NOTHING, waiting, inProgress }, NOBODY, NOW)).toBe(wanted);
  });

  test("idles five seconds, whatever the endpoint says", () => {
    expect(idleTimeoutOf(60, BY_COUNT)).toBe(5000);
    expect(idleTimeoutOf(60, BY_DELAY)).toBe(60_000);
    expect(idleTimeoutOf(60, BY_COUNT, "LOAD_BALANCER")).toBe(60_000);
  });
});

describe("idle workers", () => {
  const idle = (...seconds: number[]): Idle[] => seconds.map((s, i) => ({ id: `w${i}`, since: NOW - s * 1000 }));

  test("end when their time is over, the longest idle first", () => {
    expect(idleTooLong(idle(10, 9, 30), 3, policy(), NOTHING, NOW)).toEqual(["w2", "w0"]);
  });

  test("stay while there are no more than min", () => {
    expect(idleTooLong(idle(30, 40), 3, policy({ min: 2 }), NOTHING, NOW)).toEqual(["w1"]);
    expect(idleTooLong(idle(30, 40), 2, policy({ min: 2 }), NOTHING, NOW)).toEqual([]);
  });

  test("stay while any job waits, of low priority too", () => {
    expect(idleTooLong(idle(30), 1, policy(), { ...NOTHING, lowPriorityWaiting: 1 }, NOW)).toEqual([]);
  });

  test("stay while the running requests ask for as many", () => {
    const counted = policy({ scaling: BY_COUNT, idleTimeoutMs: 5000 });
    expect(idleTooLong(idle(30, 30), 3, counted, { ...NOTHING, inProgress: 5 }, NOW)).toHaveLength(1);
  });
});

/** Simulates seconds: jobs come, workers boot for a while, run one job at a time, and are paid for from start to end. */
class Trace {
  readonly #random: SeededRandom;
  readonly policy: ScalingPolicy;
  readonly bootS: number;
  #now = 0;
  #waiting: { since: number; durationS: number }[] = [];
  #workers: { id: string; readyAt: number; busyUntil: number | undefined; idleSince: number | undefined }[] = [];
  jobs = 0;
  done = 0;
  busyS = 0;
  paidS = 0;
  starts = 0;
  most = 0;
  least = Number.POSITIVE_INFINITY;

  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
    const scaling = this.#random.chance(0.5) ? BY_DELAY : BY_COUNT;
    const idleTimeoutMs = idleTimeoutOf(1 + this.#random.below(20), scaling);
    this.policy = { min: this.#random.below(3), max: 2 + this.#random.below(6), idleTimeoutMs, scaling };
    this.bootS = 1 + this.#random.below(15);
  }

  run(seconds: number): void {
    const rate = this.#random.fraction();
    for (let s = 0; s < seconds; s++) this.#tick(s < seconds / 2 && this.#random.chance(rate));
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  #tick(arrives: boolean): void {
    if (arrives) {
      this.#waiting.push({ since: this.#now, durationS: 1 + this.#random.below(8) });
      this.jobs++;
    }
    this.#work();
    this.#scale();
    this.most = Math.max(this.most, this.#workers.length);
    if (this.#now > 0) this.least = Math.min(this.least, this.#workers.length);
    this.paidS += this.#workers.length;
    this.#now += 1000;
  }

  #work(): void {
    for (const worker of this.#workers) {
      if (worker.busyUntil !== undefined && worker.busyUntil <= this.#now) {
        this.done++;
        worker.busyUntil = undefined;
        worker.idleSince = this.#now;
      }
      if (worker.readyAt > this.#now || worker.busyUntil !== undefined) continue;
      worker.idleSince ??= this.#now;
      const job = this.#waiting.shift();
      if (!job) continue;
      worker.busyUntil = this.#now + job.durationS * 1000;
      worker.idleSince = undefined;
      this.busyS += job.durationS;
    }
  }

  #scale(): void {
    const ready = this.#workers.filter(({ readyAt }) => readyAt <= this.#now);
    const idle = ready.flatMap(({ id, idleSince }) => (idleSince === undefined ? [] : [{ id, since: idleSince }]));
    const headcount = { starting: this.#workers.length - ready.length, ready: ready.length, idle: idle.length };
    const workload = {
      waiting: this.#waiting.length,
      lowPriorityWaiting: 0,
      inProgress: ready.length - idle.length,
      waitingSince: this.#waiting.map(({ since }) => since),
    };
    const ends = new Set(idleTooLong(idle, this.#workers.length, this.policy, workload, this.#now));
    this.#workers = this.#workers.filter(({ id }) => !ends.has(id));
    const wanted = wantedWorkers(this.policy, workload, headcount, this.#now);
    for (let have = headcount.starting + headcount.ready; have < wanted; have++) {
      const readyAt = this.#now + this.bootS * 1000;
      this.#workers.push({ id: `w${this.starts++}`, readyAt, busyUntil: undefined, idleSince: undefined });
    }
  }
}

const SEED = 20_260_801;

test.each(Array.from({ length: 200 }, (_, i) => SEED + i))(
  "seed %i: what is paid is bounded by the load, and the load is served",
  (seed) => {
    const trace = new Trace(seed);
    const seconds = 600;
    trace.run(seconds);
    const { min, max, idleTimeoutMs } = trace.policy;
    expect([trace.done, trace.waiting]).toEqual([trace.jobs, 0]);
    expect(trace.most).toBeLessThanOrEqual(max);
    expect(trace.least).toBeGreaterThanOrEqual(Math.min(min, max));
    // A worker is only started for a job of its own, or for `min`.
    expect(trace.starts).toBeLessThanOrEqual(trace.jobs + min);
    // In addition to its jobs a worker costs its boot and, after each job or boot, at most one idle time and the tick that ends it.
    const idleS = idleTimeoutMs / 1000 + 1;
    const bound = trace.busyS + trace.starts * (trace.bootS + idleS) + trace.jobs * idleS + min * seconds;
    expect(trace.paidS).toBeLessThanOrEqual(bound);
  },
);
