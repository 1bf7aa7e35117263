/** Waiting for what somebody tells of: for some time, and no longer than there is a client that waits. */
import type { Clock } from "./clock.ts";
import type { Gone } from "./gone.ts";

interface Patience<T> {
  clock: Clock;
  ms: number;
  gone?: Gone | undefined;
  /** What comes of it when the time is up. */
  late: T;
  /** What comes of it when the client is gone, or `leave` is called; as when the time is up by default. */
  left?: T;
  /** Called once, whatever ended it, before anybody learns of that. */
  over?: () => void;
}

export interface Wait<T> {
  ended: Promise<T>;
  /** Ends it, unless it has ended. */
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
  // Not at once: what is to be undone then may only be done once this has returned.
  if (gone?.aborted) queueMicrotask(leave);
  return { ended: promise, end, leave };
}

/** Lets some time pass, less where nobody waits any more. */
export async function pause(clock: Clock, ms: number, gone: Gone): Promise<void> {
  if (!gone.aborted) await wait<void>({ clock, ms, gone, late: undefined }).ended;
}

/** Waits for work, but no longer than this. What becomes of it later is not waited for. */
export async function within(clock: Clock, limitMs: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = clock.after(limitMs, late.resolve);
  await Promise.race([work, late.promise]);
  timer.cancel();
}
