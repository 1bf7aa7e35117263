/** Background duties: each is a `tick(now)` that is safe to repeat; the loop around it is written once, here. */
import type { Clock, Timer } from "./clock.ts";

export interface Duty extends AsyncDisposable {
  /** Runs the duty now, or right after the run in progress, and resolves when that run is over. */
  soon(): Promise<void>;
}

export function every(
  clock: Clock,
  intervalMs: number,
  tick: (now: number) => Promise<void> | void,
  failed: (error: unknown) => void,
): Duty {
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let disposed = false;

  async function run(): Promise<void> {
    timer?.cancel();
    try {
      await tick(clock.now());
    } catch (error) {
      failed(error);
    }
    if (!disposed) timer = clock.after(intervalMs, () => void start());
  }

  function start(): Promise<void> {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  }

  timer = clock.after(intervalMs, () => void start());
  return {
    async soon() {
      await running;
      if (!disposed) await start();
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      timer?.cancel();
      await running;
    },
  };
}
