/** A queue with constant-time removal and insertion at the front. */

/** Used-up places are released once there are this many. */
const COMPACT_AT = 4096;

export class Deque<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  get last(): T | undefined {
    return this.length === 0 ? undefined : this.#items.at(-1);
  }

  push(item: T): void {
    this.#items.push(item);
  }

  pop(): T | undefined {
    return this.length === 0 ? undefined : this.#items.pop();
  }

  unshift(item: T): void {
    if (this.#head === 0) this.#makeRoom();
    this.#items[--this.#head] = item;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head >= COMPACT_AT && this.#head * 2 > this.#items.length) this.#compact();
    return item;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i]!;
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }

  #makeRoom(): void {
    const room = Math.max(16, this.length >> 1);
    this.#items = [...new Array<undefined>(room), ...this.#items];
    this.#head = room;
  }
}
