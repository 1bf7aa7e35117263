/** The queue, only in memory. */
import { EmbeddedQueue } from "./embedded-queue.ts";
import type { MonotonicClock } from "./holder-book.ts";
import { MemoryJournal } from "./memory-journal.ts";

export class MemoryQueue extends EmbeddedQueue {
  constructor(clock: MonotonicClock) {
    super(new MemoryJournal(), clock);
  }
}
