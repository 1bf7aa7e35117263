/** Where the time of each start went, in words for the worker's log. */
import type { WorkerItem } from "../records.ts";

interface Times {
  placed: number;
  prepared: number;
  created: number;
}

export class StartTimes {
  readonly #times = new Map<string, Times>();

  note(id: string, times: Times): void {
    this.#times.set(id, times);
  }

  /** Its program began later than the driver had accepted it. */
  began(id: string, created: number): void {
    const times = this.#times.get(id);
    if (times) this.#times.set(id, { ...times, created });
  }

  forget(id: string): void {
    this.#times.delete(id);
  }

  /** Told once; of a start that another process made only the whole time is known. */
  tell({ id, createdAt, doc }: WorkerItem, readyAt: number): string {
    const times = this.#times.get(id);
    this.#times.delete(id);
    const total = `after ${readyAt - createdAt} ms`;
    if (!times) return total;
    const { placed, prepared, created } = times;
    const parts = { scheduled: placed - createdAt, image: prepared - placed, created: created - prepared };
    const askedAt = doc.warmUp?.since ?? readyAt;
    const warmUp = doc.warmUp && { "warm-up": readyAt - askedAt };
    const spent = Object.entries({ ...parts, "first ask": askedAt - created, ...warmUp });
    return `${total} (${spent.map(([name, ms]) => `${name} ${Math.max(0, ms)} ms`).join(", ")})`;
  }
}
