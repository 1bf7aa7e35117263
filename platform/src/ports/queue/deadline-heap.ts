/** A binary heap of items with deadlines. It knows the place of each item, so that removing from the middle is cheap. */

export interface Timed {
  /** The item's place in the heap, which the heap maintains; -1 outside. */
  heapIndex: number;
}

export class DeadlineHeap<T extends Timed> {
  readonly #items: T[] = [];
  readonly #deadline: (item: T) => number;

  constructor(deadline: (item: T) => number) {
    this.#deadline = deadline;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    item.heapIndex = this.#items.push(item) - 1;
    this.#rise(item.heapIndex);
  }

  remove(item: T): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop()!;
    if (last === item) return;
    this.#place(last, index);
    this.#rise(index);
    this.#sink(last.heapIndex);
  }

  /** Moves an item whose deadline changed to its new place. */
  update(item: T): void {
    if (item.heapIndex < 0) return;
    this.#rise(item.heapIndex);
    this.#sink(item.heapIndex);
  }

  /** Returns up to `limit` items that are due at `now`, without removing them. */
  due(now: number, limit: number): T[] {
    const found: T[] = [];
    const pending = [0];
    for (let index = pending.pop(); index !== undefined && found.length < limit; index = pending.pop()) {
      const item = this.#items[index];
      if (!item || this.#deadline(item) > now) continue;
      found.push(item);
      pending.push(2 * index + 1, 2 * index + 2);
    }
    return found;
  }

  #rise(start: number): void {
    const item = this.#items[start]!;
    const deadline = this.#deadline(item);
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#deadline(this.#items[parent]!) <= deadline) break;
      this.#place(this.#items[parent]!, index);
      index = parent;
    }
    this.#place(item, index);
  }

  #sink(start: number): void {
    const item = this.#items[start]!;
    const deadline = this.#deadline(item);
    const count = this.#items.length;
    let index = start;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= count) break;
      if (child + 1 < count && this.#deadline(this.#items[child + 1]!) < this.#deadline(this.#items[child]!)) child++;
      if (this.#deadline(this.#items[child]!) >= deadline) break;
      this.#place(this.#items[child]!, index);
      index = child;
    }
    this.#place(item, index);
  }

  #place(item: T, index: number): void {
    this.#items[index] = item;
    item.heapIndex = index;
  }
}
