/** Reports in the worker's log how long each part of a start took. */
import type { Instruments } from "../../../kernel/instruments.ts";
import type { WorkerItem } from "../records.ts";

interface Times {
  placed: number;
  prepared: number;
  created: number;
}

export class StartTimes {
  readonly #times = new Map<string, Times>();
  readonly #starts: Instruments["starts"] | undefined;

  constructor(starts?: Instruments["starts"]) {
    this.#starts = starts;
  }

  note(id: string, times: Times): void {
    this.#times.set(id, times);
  }

  /** The driver accepted the program earlier, and it began only now. */
  began(id: string, created: number): void {
    const times = this.#times.get(id);
    if (times) this.#times.set(id, { ...times, created });
  }

  forget(id: string): void {
    this.#times.delete(id);
  }

  /** The text for the log, available once. Only the total time is known of a start that another process made. */
  tell({ id, createdAt, doc }: WorkerItem, readyAt: number): string {
    const times = this.#times.get(id);
    this.#times.delete(id);
    this.#starts?.note("ready", readyAt - createdAt);
    const total = `after ${readyAt - createdAt} ms`;
    if (!times) return total;
    const { placed, prepared, created } = times;
    const parts = { scheduled: placed - createdAt, image: prepared - placed, created: created - prepared };
    const askedAt = doc.warmUp?.since ?? readyAt;
    this.#starts?.note("schedule", parts.scheduled);
    this.#starts?.note("first_ask", askedAt - created);
    if (doc.warmUp) this.#starts?.note("warm_up", readyAt - askedAt);
    const warmUp = doc.warmUp && { "warm-up": readyAt - askedAt };
    const spent = Object.entries({ ...parts, "first ask": askedAt - created, ...warmUp });
    return `${total} (${spent.map(([name, ms]) => `${name} ${Math.max(0, ms)} ms`).join(", ")})`;
  }
}
