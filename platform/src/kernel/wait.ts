/** Waits for a value for a limited time, and only as long as the client is still there. */
import type { Clock, Timer } from "./clock.ts";
import type { Gone } from "./gone.ts";

export interface Patience<T> {
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

/** One wait. A class, since every /runsync makes one: closures for its parts would take twice the memory. */
export class Wait<T> {
  readonly ended: Promise<T>;
  readonly #resolve: (value: T) => void;
  readonly #gone: Gone | undefined;
  readonly #timer: Timer;
  readonly #left: T;
  readonly #over: (() => void) | undefined;
  #isOver = false;
  /** Ends the wait early. */
  readonly leave = (): void => this.end(this.#left);

  constructor({ clock, ms, gone, late, left = late, over }: Patience<T>) {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.ended = promise;
    this.#resolve = resolve;
    this.#gone = gone;
    this.#left = left;
    this.#over = over;
    this.#timer = clock.after(ms, left === late ? this.leave : () => this.end(late));
    gone?.addEventListener("abort", this.leave);
    // This is delayed, since the caller may do only after this returns what `over` then undoes.
    if (gone?.aborted) queueMicrotask(this.leave);
  }

  /** Ends the wait with this value, unless it has already ended. */
  end(value: T): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer.cancel();
    this.#gone?.removeEventListener("abort", this.leave);
    this.over();
    this.#resolve(value);
  }

  protected over(): void {
    this.#over?.();
  }
}

/** Begins a wait whose parts can be handed on by themselves. */
export function wait<T>(patience: Patience<T>): Pick<Wait<T>, "ended" | "end" | "leave"> {
  const waiting = new Wait(patience);
  const { ended, leave } = waiting;
  return { ended, leave, end: (value) => waiting.end(value) };
}

/** Waits for some time, or until the client is gone. */
export async function pause(clock: Clock, ms: number, gone: Gone): Promise<void> {
  if (!gone.aborted) await new Wait<void>({ clock, ms, gone, late: undefined }).ended;
}

/** Waits for work, but no longer than `limitMs`. Later results are ignored. */
export async function within(clock: Clock, limitMs: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = clock.after(limitMs, late.resolve);
  await Promise.race([work, late.promise]);
  timer.cancel();
}

/**
 * Waits for work, but only as long as the client is still there. A client may stay for days, so nothing of a wait is left with it: racing
 * each wait against one promise would keep them all.
 */
export async function whileThere(gone: Gone, work: Promise<void>): Promise<void> {
  if (gone.aborted) return;
  const left = Promise.withResolvers<void>();
  gone.addEventListener("abort", left.resolve);
  await Promise.race([work, left.promise]);
  gone.removeEventListener("abort", left.resolve);
}
