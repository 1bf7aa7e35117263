/** A wait that ends early when it is no longer wanted. */
import type { Clock } from "../../kernel/clock.ts";

export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const over = () => {
      timer.cancel();
      signal.removeEventListener("abort", over);
      resolve();
    };
    const timer = clock.after(delayMs, over);
    signal.addEventListener("abort", over, { once: true });
  });
}
