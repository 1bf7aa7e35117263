/** The newest events of an account, numbered: readers go on from where they are, as long as that is still here. */
import type { AccountEvent } from "./model.ts";

export interface Numbered {
  number: number;
  event: AccountEvent;
}

const MOST_EVENTS = 2000;
/** Of their text, about. */
const MOST_BYTES = 512 * 1024;

export class Backlog {
  readonly #events: (Numbered & { bytes: number })[] = [];
  #bytes = 0;
  /** The number of the newest event there ever was. */
  last = 0;

  add(event: AccountEvent): void {
    const bytes = JSON.stringify(event).length;
    this.last++;
    this.#events.push({ number: this.last, event, bytes });
    this.#bytes += bytes;
    while (this.#events.length > MOST_EVENTS || this.#bytes > MOST_BYTES) this.#bytes -= this.#events.shift()!.bytes;
  }

  /** Whether nothing after this number is missing here. */
  reaches(number: number): boolean {
    return number <= this.last && number >= this.last - this.#events.length;
  }

  after(number: number, most: number): Numbered[] {
    const first = this.last - this.#events.length;
    return this.#events.slice(Math.max(0, number - first), Math.max(0, number - first) + most);
  }
}
