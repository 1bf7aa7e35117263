/** Simulated time: one sequence of events for a whole world, and clocks that stop with the process they belong to. */
import { type Clock, lull, type Timer, turn } from "../../src/kernel/clock.ts";

interface Event {
  at: number;
  order: number;
  action: () => void;
  cancelled: boolean;
}

const START = Date.UTC(2026, 0, 1);
/** Work that gives way to the event loop goes on after this many events. A turn of the loop costs more than most events. */
const EVENTS_IN_A_TURN = 16;

export class Timeline {
  /** Latest first, so that the next event is taken from the end. */
  readonly #events: Event[] = [];
  #elapsed = 0;
  #order = 0;
  #skew = 0;
  #highest = START;

  get elapsed(): number {
    return this.#elapsed;
  }

  /** The time that the wall clock shows. */
  get wall(): number {
    return START + this.#elapsed + this.#skew;
  }

  /** The latest time that the wall clock has ever shown. Nothing may end before its time by this clock, however the clock was set. */
  get highest(): number {
    this.#highest = Math.max(this.#highest, this.wall);
    return this.#highest;
  }

  after(delayMs: number, action: () => void): Timer {
    const event: Event = {
      at: this.#elapsed + Math.max(0, Math.ceil(delayMs)),
      order: this.#order++,
      action,
      cancelled: false,
    };
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#events[middle]!.at > event.at) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
    return {
      cancel: () => {
        event.cancelled = true;
      },
    };
  }

  /** Sets the wall clock without time passing. */
  jump(ms: number): void {
    this.#skew += ms;
    void this.highest;
  }

  /** Runs the next event and everything that follows from it. Resolves to false if there is none: then no time passes. */
  async step(): Promise<boolean> {
    for (let event = this.#events.pop(); event; event = this.#events.pop()) {
      if (event.cancelled) continue;
      this.#elapsed = Math.max(this.#elapsed, event.at);
      void this.highest;
      event.action();
      await (this.#order % EVENTS_IN_A_TURN === 0 ? turn() : lull());
      return true;
    }
    // Work that gives way to the event loop may still make one.
    await turn();
    return false;
  }
}

/** The clock of one process. Once the process is dead, none of its timers fires. */
export class ProcessClock implements Clock {
  readonly #timeline: Timeline;
  #dead = false;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  now(): number {
    return this.#timeline.wall;
  }

  monotonic(): number {
    return this.#timeline.elapsed;
  }

  after(delayMs: number, action: () => void): Timer {
    return this.#timeline.after(delayMs, () => {
      if (!this.#dead) action();
    });
  }

  stop(): void {
    this.#dead = true;
  }
}
