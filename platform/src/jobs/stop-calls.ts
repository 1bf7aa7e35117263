/** Workers that wait to be told which jobs to stop. */

import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { wait } from "../kernel/wait.ts";
import type { Signals } from "../ports/signals/signals.ts";

export class StopCalls {
  readonly #signals: Signals;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor({ signals, clock }: { signals: Signals; clock: Clock }) {
    this.#signals = signals;
    this.#clock = clock;
  }

  /** `signalled` resolves to true if this worker may have a job to stop, and to false if the time is up or the worker is gone. */
  next(worker: string, waitMs: number, gone: Gone): { signalled: Promise<boolean>; cancel: () => void } {
    const over = () => {
      stopListening();
      this.#waiting.delete(leave);
    };
    const { ended, end, leave } = wait<boolean>({ clock: this.#clock, ms: waitMs, gone, late: false, over });
    const stopListening = this.#signals.listen(`stop:${worker}`, () => end(true));
    this.#waiting.add(leave);
    if (this.#closed) leave();
    return { signalled: ended, cancel: leave };
  }

  /** Releases all waiting workers, now and from now on. */
  close(): void {
    this.#closed = true;
    for (const leave of [...this.#waiting]) leave();
  }
}
