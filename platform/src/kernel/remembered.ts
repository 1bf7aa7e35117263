/** Remembers for a moment what was read from the store, so that not every request reads it again. */
import { type Clock, lately } from "./clock.ts";

const AT_MOST = 10_000;

export class Remembered<T> {
  /** Values by name, oldest first. */
  readonly #values = new Map<string, { value: T; readAt: number }>();
  readonly #clock: Clock;
  readonly #forMs: number;
  /** Counts deletions. What was read before one may be out of date. */
  #deletions = 0;

  constructor(clock: Clock, forMs: number) {
    this.#clock = clock;
    this.#forMs = forMs;
  }

  get(name: string): T | undefined {
    const found = this.#values.get(name);
    return found && lately(this.#clock) - found.readAt < this.#forMs ? found.value : undefined;
  }

  set(name: string, value: T): void {
    const readAt = this.#clock.monotonic();
    this.#forgetUntil(readAt - this.#forMs);
    if (this.#values.size >= AT_MOST) this.#values.clear();
    this.#values.delete(name);
    this.#values.set(name, { value, readAt });
  }

  /** Reads a value and remembers it, unless something was deleted here while it was read. */
  async reading<R extends T | undefined>(name: string, read: () => Promise<R>): Promise<R> {
    const deletions = this.#deletions;
    const value = await read();
    if (value !== undefined && deletions === this.#deletions) this.set(name, value);
    return value;
  }

  delete(name: string): void {
    this.#deletions++;
    this.#values.delete(name);
  }

  clear(): void {
    this.#deletions++;
    this.#values.clear();
  }

  /** Names may be secrets, so every new value drops the names that have expired. */
  #forgetUntil(oldest: number): void {
    for (const [name, { readAt }] of this.#values) {
      if (readAt > oldest) return;
      this.#values.delete(name);
    }
  }
}
