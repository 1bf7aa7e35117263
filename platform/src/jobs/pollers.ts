/** Workers that wait for work: woken in the order they came, as many as there is work for, and no wake-up is lost. */

import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { wait } from "../kernel/wait.ts";
import type { Signals } from "../ports/signals/signals.ts";

/** Where signals may be lost, a waiting worker looks for itself this often. */
const LOOK_EVERY_MS = 1000;

/** A place in the line: taken before looking for work, so that work which comes in between still wakes it. */
export interface PollerPlace extends Disposable {
  /** True when there may be work, false when the time is up or the worker is gone. */
  woken(untilMs: number, gone: Gone): Promise<boolean>;
  /** The work that it was called for is not for this one: the poller behind it is called instead. */
  passOn(): void;
}

interface Waiting {
  worker: string;
  wake: (() => void) | undefined;
  called: boolean;
  /** Let go for good: there is nothing to look for. */
  released: boolean;
}

interface Line {
  waiting: Set<Waiting>;
  /** How many of them belong to each worker. */
  places: Map<string, number>;
  stopListening: () => void;
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

  /** How many workers wait for work of this endpoint; each may wait at several places. */
  workers(endpoint: string): number {
    return this.#lines.get(endpoint)?.places.size ?? 0;
  }

  /** Whether this worker is one of them. */
  has(endpoint: string, worker: string): boolean {
    return this.#lines.get(endpoint)?.places.has(worker) ?? false;
  }

  /** Whether one of them has nothing to look for. */
  hasFree(endpoint: string): boolean {
    for (const { wake } of this.#lines.get(endpoint)?.waiting ?? []) if (wake) return true;
    return false;
  }

  join(endpoint: string, worker: string): PollerPlace {
    const line = this.#line(endpoint);
    const place: Waiting = { worker, wake: undefined, called: this.#closed, released: false };
    line.waiting.add(place);
    line.places.set(worker, (line.places.get(worker) ?? 0) + 1);
    return {
      woken: (untilMs, gone) => this.#woken(place, untilMs, gone),
      passOn: () => this.#wake(endpoint, 1, place),
      [Symbol.dispose]: () => this.#leave(endpoint, line, place),
    };
  }

  /** Lets one worker look once more. */
  call(endpoint: string, worker: string): void {
    for (const place of this.#lines.get(endpoint)?.waiting ?? []) if (place.worker === worker) call(place);
  }

  /** Lets one worker go with nothing; what it was called for is for others. */
  release(endpoint: string, worker: string): void {
    for (const place of this.#lines.get(endpoint)?.waiting ?? []) {
      if (place.worker !== worker) continue;
      place.released = true;
      place.wake?.();
    }
  }

  /** Lets everyone go with nothing, now and from now on: the server hands out no more work. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of this.#lines.values()) for (const place of waiting) call(place);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Wakes the first of an endpoint's line, or the first behind a given place, one for each job. */
  #wake(endpoint: string, count: number, behind?: Waiting): void {
    let left = count;
    let isBehind = behind === undefined;
    for (const place of this.#lines.get(endpoint)?.waiting ?? []) {
      if (left <= 0) return;
      if (place === behind) isBehind = true;
      else if (isBehind && !place.called) {
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
    };
    // Running out of the short time is a reason to look once more, running out of the whole time is the end.
    const { ended, end } = wait({ clock: this.#clock, ms, gone, late: ms < leftMs, left: false, over });
    place.wake = () => end(this.#answered(place));
    return ended;
  }

  /** One who is let go keeps its call, so that it is passed on when it leaves. */
  #answered(place: Waiting): boolean {
    if (place.released) return false;
    place.called = false;
    return !this.#closed;
  }

  /** Someone who was called but leaves without looking passes the call on. */
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
      const stopListening = this.#signals.listen(`work:${endpoint}`, (count) => this.#wake(endpoint, count));
      line = { waiting: new Set(), places: new Map(), stopListening };
      this.#lines.set(endpoint, line);
    }
    return line;
  }
}

function call(place: Waiting): void {
  place.called = true;
  place.wake?.();
}
