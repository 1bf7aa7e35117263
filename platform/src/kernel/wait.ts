/** Waits for a value for a limited time, and only as long as the client is still there. */
import type { Clock } from "./clock.ts";
import type { Gone } from "./gone.ts";

interface Patience<T> {
  clock: Clock;
  ms: number;
  gone?: Gone | undefined;
  /** The result when the time is up. */
  late: T;
  /** The result when the client is gone or `leave` is called; `late` by default. */
  left?: T;
  /** Called once, however the wait ended, before anyone sees the result. */
  over?: () => void;
}

export interface Wait<T> {
  ended: Promise<T>;
  /** Ends the wait with this value, unless it has already ended. */
  end(value: T): void;
  leave(): void;
}

export function wait<T>({ clock, ms, gone, late, left = late, over }: Patience<T>): Wait<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  let isOver = false;
  const end = (value: T) => {
    if (isOver) return;
    isOver = true;
    timer.cancel();
    gone?.removeEventListener("abort", leave);
    over?.();
    resolve(value);
  };
  const leave = () => end(left);
  const timer = clock.after(ms, () => end(late));
  gone?.addEventListener("abort", leave);
  // This is delayed, since the caller may do only after this returns what `over` then undoes.
  if (gone?.aborted) queueMicrotask(leave);
  return { ended: promise, end, leave };
}

/** Waits for some time, or until the client is gone. */
export async function pause(clock: Clock, ms: number, gone: Gone): Promise<void> {
  if (!gone.aborted) await wait<void>({ clock, ms, gone, late: undefined }).ended;
}

/** Waits for work, but no longer than `limitMs`. Later results are ignored. */
export async function within(clock: Clock, limitMs: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = clock.after(limitMs, late.resolve);
  await Promise.race([work, late.promise]);
  timer.cancel();
}
