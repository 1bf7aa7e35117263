/** Ends a history whose time stands still. Without it, such a history would never end, and nobody would learn its seed. */
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";

export interface StandstillLimits {
  /** Events at one moment. */
  events: number;
  /** Calls that leave processes at one moment. */
  calls: number;
  /** Turns of the event loop in which nothing is left that could happen. */
  turns: number;
}

/** A hundred times what the busiest moment of 60 histories had. */
const LIMITS: StandstillLimits = { events: 50_000, calls: 50_000, turns: 1000 };

export class Standstill {
  readonly #timeline: Timeline;
  readonly #trace: Trace;
  readonly #limits: StandstillLimits;
  #moment = -1;
  #counts: StandstillLimits = { events: 0, calls: 0, turns: 0 };

  constructor(timeline: Timeline, trace: Trace, limits = LIMITS) {
    this.#timeline = timeline;
    this.#trace = trace;
    this.#limits = limits;
  }

  /** Called after each step of the timeline. */
  stepped(hasHappened: boolean): void {
    if (hasHappened) this.#note("events", "events happened");
    else this.#note("turns", "turns of the event loop went by, nothing is left that could happen");
  }

  /** Called for each call that leaves a process. Returns false if there were too many: then the call must never return. */
  called(): boolean {
    return this.#note("calls", "calls left the processes");
  }

  #note(what: keyof StandstillLimits, words: string): boolean {
    const { elapsed } = this.#timeline;
    if (elapsed !== this.#moment) {
      this.#moment = elapsed;
      this.#counts = { events: 0, calls: 0, turns: 0 };
    }
    const count = ++this.#counts[what];
    if (count <= this.#limits[what]) return true;
    this.#trace.broken(`time stands still: ${count} ${words}, and it is still ${elapsed} ms after the start`);
    return false;
  }
}
