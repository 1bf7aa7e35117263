/** A heap of items with deadlines. It knows the place of each item, so that removing from the middle is cheap. */

export interface Timed {
  /** The item's place in the heap, which the heap maintains; -1 outside. */
  heapIndex: number;
}

/** Each item has four below it. With a million items, that is half as many steps as with two, and the four are read together. */
const BELOW = 4;
const BITS = 2;

export class DeadlineHeap<T extends Timed> {
  readonly #items: T[] = [];
  /** The deadlines of the items, in the same order. Comparing items themselves would fetch each of them from far away in memory. */
  readonly #times: number[] = [];
  readonly #deadline: (item: T) => number;

  /** An item whose deadline is infinite is not kept. */
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
    const time = this.#deadline(item);
    if (time === Number.POSITIVE_INFINITY) return;
    // Both lists grow by the item itself, since a list with a gap is a slower one.
    this.#items.push(item);
    this.#times.push(time);
    this.#rise(item, time, this.#items.length - 1);
  }

  remove(item: T): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop()!;
    const time = this.#times.pop()!;
    if (last !== item) this.#move(last, time, index);
  }

  /** Moves an item whose deadline changed to its new place. One that had none before is added, and one that has none any more is removed. */
  update(item: T): void {
    if (item.heapIndex < 0) {
      this.add(item);
      return;
    }
    const time = this.#deadline(item);
    if (time === Number.POSITIVE_INFINITY) this.remove(item);
    else this.#move(item, time, item.heapIndex);
  }

  /** Returns up to `limit` items that are due at `now`, without removing them. */
  due(now: number, limit: number): T[] {
    const found: T[] = [];
    const pending = [0];
    for (let index = pending.pop(); index !== undefined && found.length < limit; index = pending.pop()) {
      const time = this.#times[index];
      if (time === undefined || time > now) continue;
      found.push(this.#items[index]!);
      for (let below = 1; below <= BELOW; below++) pending.push(BELOW * index + below);
    }
    return found;
  }

  /** The place at `index` is free for the item, which may belong above or below it. */
  #move(item: T, time: number, index: number): void {
    if (index > 0 && this.#times[(index - 1) >> BITS]! > time) this.#rise(item, time, index);
    else this.#sink(item, time, index);
  }

  #rise(item: T, time: number, start: number): void {
    let index = start;
    while (index > 0) {
      const above = (index - 1) >> BITS;
      const its = this.#times[above]!;
      if (its <= time) break;
      this.#place(this.#items[above]!, its, index);
      index = above;
    }
    this.#place(item, time, index);
  }

  #sink(item: T, time: number, start: number): void {
    const times = this.#times;
    let index = start;
    for (;;) {
      const first = BELOW * index + 1;
      const stop = Math.min(first + BELOW, times.length);
      let soonest = first;
      for (let below = first + 1; below < stop; below++) if (times[below]! < times[soonest]!) soonest = below;
      if (first >= stop || times[soonest]! >= time) break;
      this.#place(this.#items[soonest]!, times[soonest]!, index);
      index = soonest;
    }
    this.#place(item, time, index);
  }

  #place(item: T, time: number, index: number): void {
    this.#items[index] = item;
    this.#times[index] = time;
    item.heapIndex = index;
  }
}
