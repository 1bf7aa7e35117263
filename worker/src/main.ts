/** Runs a handler for the jobs of a Millrace endpoint: `start({ handler })` is all that a worker's program needs. */
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
  /** Jobs that run at once, 1 to 500; 1 by default. */
  concurrency?: number;
  /** What a generator yields is also the job's output; without it the output of a streaming job is an empty list. */
  aggregate?: boolean;
  /** A fresh process for every job: after the first one the worker ends, and whoever started it starts it again. */
  refreshWorker?: boolean;
  /** Run before the first job is taken. One that throws, rejects or is false makes the worker say so and end with code 1. */
  fitness?: Record<string, () => unknown>;
  /** Variables to read instead of the process's own. */
  env?: Record<string, string | undefined>;
  /** Arguments to read instead of the process's own. */
  args?: readonly string[];
  /** Whether SIGTERM and SIGINT end the worker in an orderly way; true by default. */
  signals?: boolean;
  clock?: Clock;
  log?: (message: string) => void;
}

export interface Worker {
  /** Takes no more jobs, finishes those that run, and resolves when the server has every result. */
  stop(): Promise<void>;
  /** Resolves with the code that the process should end with. */
  ended: Promise<number>;
}

const MOST_AT_ONCE = 500;

/** Starts working at once. When the worker has ended, the process is left with the right exit code and nothing that keeps it. */
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
