/** Runs a handler for the jobs of a Millrace endpoint. A worker's program only needs `start({ handler })`. */
import { hostname } from "node:os";
import { type Clock, realClock } from "./clock.ts";
import type { Handler } from "./handler.ts";
import { Link } from "./link.ts";
import { localTest } from "./local-test.ts";
import { Loop } from "./loop.ts";
import { placeFrom, testInputIn } from "./settings.ts";

export type { Handler, Job, Run } from "./handler.ts";

export interface StartOptions<Input = Record<string, unknown>> {
  handler: Handler<Input>;
  /** How many jobs run at once, 1 to 500. The default is 1. */
  concurrency?: number;
  /** The values that a generator yields are also the job's output. Without this the output of a streaming job is an empty list. */
  aggregate?: boolean;
  /** Uses a new process for every job: the worker ends after each job and must be started again. */
  refreshWorker?: boolean;
  /** Checks that run before the first job. If one throws, rejects or returns false, the worker reports it and exits with code 1. */
  fitness?: Record<string, () => unknown>;
  /** Environment variables to use instead of the process's own. */
  env?: Record<string, string | undefined>;
  /** Arguments to use instead of the process's own. */
  args?: readonly string[];
  /** Whether SIGTERM and SIGINT end the worker in an orderly way. The default is true. */
  signals?: boolean;
  clock?: Clock;
  log?: (message: string) => void;
}

export interface Worker {
  /** Takes no more jobs, finishes the running ones, and resolves when the server has every result. */
  stop(): Promise<void>;
  /** Resolves with the exit code for the process. */
  ended: Promise<number>;
}

const MOST_AT_ONCE = 500;

/** Starts working at once. When the worker has ended, the exit code is set and nothing keeps the process alive. */
export function start<Input = Record<string, unknown>>(options: StartOptions<Input>): Worker {
  const { concurrency = 1, env = process.env, args = process.argv.slice(2) } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST_AT_ONCE) {
    throw new RangeError(`concurrency must be an integer from 1 to ${MOST_AT_ONCE}`);
  }
  const handler = options.handler as Handler;
  const given = testInputIn(args);
  const place = given === undefined ? placeFrom(env) : undefined;
  if (!place) {
    const ended = localTest({ handler, given, print: console.log }).then((succeeded) => exitWith(succeeded ? 0 : 1));
    return { stop: async () => void (await ended), ended };
  }
  const { clock = realClock, log = (message) => console.error(`millrace-worker: ${message}`) } = options;
  const link = new Link(place, clock);
  const { refreshWorker: refresh = false, aggregate = false } = options;
  const origin = { hostname: hostname(), worker: place.worker };
  const { pingIntervalMs } = place;
  const loop = new Loop({ handler, concurrency, refresh, aggregate, link, clock, origin, pingIntervalMs, log });
  const stopListening = options.signals === false ? () => {} : endOnSignals(() => loop.drain());
  const ended = work(options.fitness ?? {}, link, loop, log).then((code) => {
    stopListening();
    link.close();
    return exitWith(code);
  });
  return {
    async stop() {
      loop.drain();
      await ended;
    },
    ended,
  };
}

async function work(
  fitness: Record<string, () => unknown>,
  link: Link,
  loop: Loop,
  log: (message: string) => void,
): Promise<number> {
  for (const [name, check] of Object.entries(fitness)) {
    const reason = await unfitness(check);
    if (reason === undefined) continue;
    log(`not fit to work: ${name}: ${reason}`);
    await link.unfit(name, reason).catch(() => undefined);
    return 1;
  }
  loop.start();
  await loop.ended;
  return 0;
}

async function unfitness(check: () => unknown): Promise<string | undefined> {
  try {
    return (await check()) === false ? "the check failed" : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A second signal ends the process at once. */
function endOnSignals(drain: () => void): () => void {
  let asked = false;
  const heard = () => {
    if (asked) process.exit(1);
    asked = true;
    drain();
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, heard);
  return () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.off(signal, heard);
  };
}

function exitWith(code: number): number {
  if (code !== 0) process.exitCode = code;
  return code;
}
