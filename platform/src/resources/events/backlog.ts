/** Keeps the newest events of an account, numbered. A reader can continue from its last event as long as the later ones are still here. */
import type { AccountEvent } from "./model.ts";

export interface Numbered {
  number: number;
  event: AccountEvent;
}

/** Ten seconds of a very busy account: a reset makes each reader fetch all lists again. */
const MOST_EVENTS = 10_000;
/** The approximate size of all kept events. */
const MOST_BYTES = 2 * 1024 * 1024;

export class Backlog {
  readonly #events: (Numbered & { bytes: number })[] = [];
  #bytes = 0;
  /** The number of the newest event so far. */
  last = 0;

  add(event: AccountEvent): void {
    const bytes = JSON.stringify(event).length;
    this.last++;
    this.#events.push({ number: this.last, event, bytes });
    this.#bytes += bytes;
    while (this.#events.length > MOST_EVENTS || this.#bytes > MOST_BYTES) this.#bytes -= this.#events.shift()!.bytes;
  }

  /** Whether all events after this number are still here. */
  reaches(number: number): boolean {
    return number <= this.last && number >= this.last - this.#events.length;
  }

  after(number: number, most: number): Numbered[] {
    const first = this.last - this.#events.length;
    return this.#events.slice(Math.max(0, number - first), Math.max(0, number - first) + most);
  }
}
