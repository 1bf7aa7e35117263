/** Time for the worker: the only file that sets a real timer. */

export interface Clock {
  /** Milliseconds that only increase. */
  monotonic(): number;
  after(delayMs: number, action: () => void): { cancel(): void };
}

export const realClock: Clock = {
  monotonic: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Runs after everything that is ready in this turn of the event loop. This is no timer, so nothing waits for time to pass. */
export function soon(action: () => void): void {
  setImmediate(action);
}
