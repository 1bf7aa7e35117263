/** Workers that wait for work. They are woken in the order they came, as many as there are jobs, and no wake-up is lost. */

import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { wait } from "../kernel/wait.ts";
import type { Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";

/** Where signals can be lost, a waiting worker checks the queue this often. */
const LOOK_EVERY_MS = 1000;

/**
 * When a claim has left nothing behind, another one is not worth its round trip until something new is signalled, or this time is over: a
 * signal may be lost or late.
 */
const EMPTY_FOR_MS = 250;

/** A place in the waiting line. A worker takes it before it looks for work, so that work which arrives in between still wakes it. */
export interface PollerPlace extends Disposable {
  /** Resolves to true if there may be work, and to false if the time is up, the worker is gone or the wait was stopped. */
  woken(untilMs: number, gone: Gone): Promise<boolean>;
  /** Whether this place waits and was not called. */
  isWaiting(): boolean;
  /** Stops the wait, since the worker got work in another way. Calls from now on are for the next in line. */
  stop(): void;
  /** This worker cannot take the work that it was called for, so the next one in line is called. */
  passOn(): void;
  /** Until this resolves, calls are for the next in line, also one that has come already: the worker is about to get other work. */
  aside<T>(work: Promise<T>): Promise<T>;
  /**
   * Whether nothing can be there: a look left nothing behind a moment ago, and nothing was signalled since it began. Only for the first
   * look of this place: after a wait, it looks in any case.
   */
  isPointless(): boolean;
  /** Begins a look for work. The returned function says that the look left nothing behind. */
  look(): () => void;
}

interface Waiting {
  worker: string;
  wake: (() => void) | undefined;
  stop: (() => void) | undefined;
  called: boolean;
  isAside: boolean;
  /** The worker was released for good and must not look for work. */
  released: boolean;
  hasLooked: boolean;
}

interface Line {
  waiting: Set<Waiting>;
  /** How many places in the line each worker has. */
  places: Map<string, number>;
  stopListening: () => void;
  /** How many signals were heard. */
  signals: number;
  /** When a look left nothing behind, and how many signals had been heard when it began. */
  empty: { signals: number; untilMs: number } | undefined;
}

export class Pollers {
  readonly #lines = new Map<string, Line>();
  readonly #signals: Signals;
  readonly #clock: Clock;
  #closed = false;

  constructor({ signals, clock }: { signals: Signals; clock: Clock }) {
    this.#signals = signals;
    this.#clock = clock;
  }

  /** How many workers wait for work of this endpoint. A worker may wait in several places. */
  workers(endpoint: string): number {
    return this.#lines.get(endpoint)?.places.size ?? 0;
  }

  /** Reports whether this worker waits for work of this endpoint. */
  has(endpoint: string, worker: string): boolean {
    return this.#lines.get(endpoint)?.places.has(worker) ?? false;
  }

  /** Reports whether a worker of this endpoint waits and was not called for a job. */
  hasFree(endpoint: string): boolean {
    for (const { wake } of this.#lines.get(endpoint)?.waiting ?? []) if (wake) return true;
    return false;
  }

  join(endpoint: string, worker: string): PollerPlace {
    const line = this.#line(endpoint);
    const clock = this.#clock;
    const place: Waiting = {
      worker,
      wake: undefined,
      stop: undefined,
      called: this.#closed,
      isAside: false,
      released: false,
      hasLooked: false,
    };
    line.waiting.add(place);
    line.places.set(worker, (line.places.get(worker) ?? 0) + 1);
    return {
      woken: (untilMs, gone) => this.#woken(place, untilMs, gone),
      isWaiting: () => place.wake !== undefined,
      stop: () => place.stop?.(),
      passOn: () => this.#wake(endpoint, 1, place),
      aside: async (work) => {
        place.isAside = true;
        if (place.called) this.#wake(endpoint, 1);
        place.called = this.#closed;
        try {
          return await work;
        } finally {
          place.isAside = false;
        }
      },
      isPointless: () => {
        const isFirst = !place.hasLooked;
        place.hasLooked = true;
        return isFirst && line.empty?.signals === line.signals && clock.monotonic() < line.empty.untilMs;
      },
      look: () => {
        const { signals } = line;
        return () => {
          line.empty = { signals, untilMs: clock.monotonic() + EMPTY_FOR_MS };
        };
      },
      [Symbol.dispose]: () => this.#leave(endpoint, line, place),
    };
  }

  /** Makes one worker look for work once more. */
  call(endpoint: string, worker: string): void {
    for (const place of this.#lines.get(endpoint)?.waiting ?? []) if (place.worker === worker) call(place);
  }

  /** Releases one worker without work. A call that it had received goes to the next in line. */
  release(endpoint: string, worker: string): void {
    for (const place of this.#lines.get(endpoint)?.waiting ?? []) {
      if (place.worker !== worker) continue;
      place.released = true;
      place.wake?.();
    }
  }

  /** Releases all workers without work, now and from now on: the server hands out no more jobs. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#lines.values()) for (const place of waiting) call(place);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Wakes as many waiting workers as there are jobs, from the front of the line or from behind a given place. */
  #wake(endpoint: string, count: number, behind?: Waiting): void {
    let left = count;
    let isBehind = behind === undefined;
    for (const place of this.#lines.get(endpoint)?.waiting ?? []) {
      if (left <= 0) return;
      if (place === behind) isBehind = true;
      // A released worker may still have to hand a job back before it leaves the line.
      else if (isBehind && !place.called && !place.isAside && !place.released) {
        call(place);
        left--;
      }
    }
  }

  #woken(place: Waiting, untilMs: number, gone: Gone): Promise<boolean> {
    const leftMs = untilMs - this.#clock.monotonic();
    if (gone.aborted || this.#closed || place.released || leftMs <= 0) return Promise.resolve(false);
    if (place.called) return Promise.resolve(this.#answered(place));
    const ms = this.#signals.reliable ? leftMs : Math.min(leftMs, LOOK_EVERY_MS);
    const over = () => {
      place.wake = undefined;
      place.stop = undefined;
    };
    // When the short interval ends, the worker looks once more. When the whole time is up, the wait ends.
    const { ended, end } = wait({ clock: this.#clock, ms, gone, late: ms < leftMs, left: false, over });
    place.wake = () => end(this.#answered(place));
    place.stop = () => end(false);
    return ended;
  }

  /** A released worker keeps its call, so that leaving the line passes it on. */
  #answered(place: Waiting): boolean {
    if (place.released) return false;
    place.called = false;
    return !this.#closed;
  }

  /** A worker that was called but leaves without looking passes its call on. */
  #leave(endpoint: string, line: Line, place: Waiting): void {
    line.waiting.delete(place);
    const left = line.places.get(place.worker)! - 1;
    if (left > 0) line.places.set(place.worker, left);
    else line.places.delete(place.worker);
    if (line.waiting.size === 0) {
      line.stopListening();
      this.#lines.delete(endpoint);
    } else if (place.called) this.#wake(endpoint, 1);
  }

  #line(endpoint: string): Line {
    let line = this.#lines.get(endpoint);
    if (!line) {
      const heard = (count: number) => {
        made.signals++;
        this.#wake(endpoint, count);
      };
      const stopListening = this.#signals.listen(`work:${endpoint}`, heard);
      const made: Line = { waiting: new Set(), places: new Map(), stopListening, signals: 0, empty: undefined };
      line = made;
      this.#lines.set(endpoint, line);
    }
    return line;
  }
}

function call(place: Waiting): void {
  place.called = true;
  place.wake?.();
}

/** If several workers wait, one that asks for many jobs gets its share and not all of them. */
export async function fairShare(
  pollers: Pollers,
  queue: Pick<Queue, "counts">,
  endpoint: string,
  limit: number,
): Promise<number> {
  const workers = pollers.workers(endpoint);
  if (workers <= 1) return limit;
  const { inQueue } = await queue.counts(endpoint);
  return Math.max(1, Math.min(limit, Math.ceil(inQueue / workers)));
}
