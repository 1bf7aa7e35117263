/** Signals within one process. */
import type { Signals, Topic } from "./signals.ts";

export class MemorySignals implements Signals {
  readonly reliable = true;
  readonly #listeners = new Map<Topic, Set<(count: number) => void>>();

  emit(topic: Topic, count = 1): void {
    const listeners = this.#listeners.get(topic);
    if (!listeners) return;
    // This is a copy, since a listener that registers again at each call would be called forever.
    for (const heard of [...listeners]) if (listeners.has(heard)) heard(count);
  }

  listen(topic: Topic, heard: (count: number) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners);
    listeners.add(heard);
    return () => {
      listeners.delete(heard);
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
    };
  }

  /** Gives every listener, of any topic, a reason to look. */
  emitAll(): void {
    for (const topic of [...this.#listeners.keys()]) this.emit(topic);
  }

  /** How many topics have listeners, so that a test can detect a leaked one. */
  get topics(): number {
    return this.#listeners.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
  }
}
