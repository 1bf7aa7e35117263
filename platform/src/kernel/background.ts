/** Background duties: each is a `tick(now)` that is safe to repeat. The loop that repeats it is written once, here. */
import type { Clock, Timer } from "./clock.ts";
import { type DutyKind, type Failed, named } from "./failed.ts";
import { floating } from "./floating.ts";

export interface Duty extends AsyncDisposable {
  /** Runs the duty now, or right after the run in progress, and resolves when that run is over. */
  soon(): Promise<void>;
}

/** A duty that keeps failing is tried less often, but pauses at most this long between tries (or its own interval, if that is longer). */
const LONGEST_BACK_OFF_MS = 10_000;

/** `failed` is told of each run that fails. If `failed` has a roll, the roll records every run. */
export function every(clock: Clock, kind: DutyKind, tick: (now: number) => Promise<void> | void, failed: Failed): Duty {
  const { name, everyMs: intervalMs } = kind;
  const notes = failed.roll?.enter(kind);
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let disposed = false;
  let failures = 0;

  async function run(): Promise<void> {
    timer?.cancel();
    notes?.began();
    try {
      await tick(clock.now());
      failures = 0;
      notes?.went();
    } catch (error) {
      failures++;
      if (notes) notes.failed(error);
      else failed(error, name);
    }
    if (!disposed) startAfter(pauseMs());
  }

  function pauseMs(): number {
    const backedOff = intervalMs * 2 ** Math.max(0, failures - 1);
    return Math.max(intervalMs, Math.min(backedOff, LONGEST_BACK_OFF_MS));
  }

  function startAfter(delayMs: number): void {
    timer = clock.after(delayMs, () => floating(start(), named(failed, name)));
  }

  function start(): Promise<void> {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  }

  startAfter(intervalMs);
  return {
    async soon() {
      await running;
      if (!disposed) await start();
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      timer?.cancel();
      await running;
      notes?.[Symbol.dispose]();
    },
  };
}
