/** The queue in memory alone. */
import { EmbeddedQueue } from "./embedded-queue.ts";
import { MemoryJournal } from "./memory-journal.ts";

export class MemoryQueue extends EmbeddedQueue {
  constructor(now = 0) {
    super(new MemoryJournal(), now);
  }
}
