/** The settings of a run: who takes part, what they do, and how often which things go wrong. */
import type { SeededRandom } from "../../src/kernel/random.ts";

export interface Mix {
  /** How long things go wrong before the quiet end. */
  seconds: number;
  endpoints: number;
  singleWorkers: number;
  batchedWorkers: number;
  clients: number;
  mostJobs: number;
  /** The longest pause of a client between two requests. */
  restMs: number;
  /** Relative weights of what clients do. */
  requests: Record<"submit" | "submitAndWait" | "read" | "cancel" | "retry" | "purge" | "shorten", number>;
  /** The chance that a job is of each kind. */
  jobs: Record<"keyed" | "mortal" | "hurried" | "failing" | "long" | "talking" | "low", number>;
  /** How often each fault happens in a hundred seconds. */
  faults: Record<
    "crash" | "kill" | "pause" | "smallJump" | "largeJump" | "fullDisk" | "slowDisk" | "badNetwork",
    number
  >;
  /** The chances at each flush. */
  flush: Record<"crashBefore" | "crashAfter", number>;
  /** The chance that the server crashes right after it has answered a client. */
  crashAfterAnswer: number;
  /** The chances for each message. */
  messages: Record<"lost" | "doubled" | "late", number>;
  /** The longest ordinary flush. */
  flushMs: number;
  /** The chance that reading a job's parts takes a while, in which the job may change. */
  slowReads: number;
  /** Whether the queue begins jobs as they are inserted, for workers that wait. */
  beginsAtOnce: boolean;
}

/** Every run has its own selection of faults. With all of them at once, most would hide each other. */
export function mixOf(random: SeededRandom): Mix {
  const sometimes = (most: number) => (random.chance(0.5) ? random.fraction() * most : 0);
  return {
    seconds: 40 + random.below(50),
    endpoints: random.chance(0.2) ? 2 : 1,
    singleWorkers: 1 + random.below(3),
    batchedWorkers: random.below(3),
    clients: 2 + random.below(3),
    mostJobs: random.pick([8, 25, 60]),
    restMs: random.pick([300, 1500, 4000]),
    requests: {
      submit: 4,
      submitAndWait: random.below(4),
      read: 3,
      cancel: sometimes(2),
      retry: sometimes(3),
      purge: sometimes(0.5),
      shorten: sometimes(1),
    },
    jobs: {
      keyed: sometimes(0.8),
      mortal: sometimes(0.4),
      hurried: sometimes(0.4),
      failing: sometimes(0.6),
      long: sometimes(0.5),
      talking: sometimes(0.8),
      low: sometimes(0.5),
    },
    faults: {
      crash: sometimes(6),
      kill: sometimes(8),
      pause: sometimes(8),
      smallJump: sometimes(6),
      largeJump: sometimes(2),
      fullDisk: sometimes(5),
      slowDisk: sometimes(5),
      badNetwork: sometimes(5),
    },
    flush: { crashBefore: sometimes(0.02), crashAfter: sometimes(0.02) },
    crashAfterAnswer: sometimes(0.02),
    messages: { lost: sometimes(0.05), doubled: sometimes(0.1), late: sometimes(0.1) },
    flushMs: random.pick([2, 20, 200]),
    slowReads: sometimes(0.4),
    beginsAtOnce: random.chance(0.5),
  };
}

/** The end of every run: nothing goes wrong any more, and everything that was begun must end. */
export const quiet: Pick<Mix, "flush" | "crashAfterAnswer" | "messages" | "flushMs" | "slowReads"> = {
  flush: { crashBefore: 0, crashAfter: 0 },
  crashAfterAnswer: 0,
  messages: { lost: 0, doubled: 0, late: 0 },
  flushMs: 2,
  slowReads: 0,
};

export type MixChange = ChangeOf<Mix>;

export type ChangeOf<M> = { [Part in keyof M]?: M[Part] extends object ? Partial<M[Part]> : M[Part] };

/** A mix with some values changed. */
export function changed<M extends object>(mix: M, change: ChangeOf<M>): M {
  const parts = Object.entries(change).map(([part, value]) => {
    const old = mix[part as keyof M];
    return [part, typeof old === "object" ? { ...old, ...(value as object) } : value];
  });
  return { ...mix, ...Object.fromEntries(parts) };
}
