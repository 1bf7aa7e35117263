/** A queue that serves several parties in turns. Each party's items keep their order, and no party waits behind all items of another. */

export class Turns<T> {
  /** The party whose turn it is stands first. */
  readonly #waiting = new Map<string, T[]>();

  get parties(): number {
    return this.#waiting.size;
  }

  add(party: string, item: T): void {
    const items = this.#waiting.get(party);
    if (items) items.push(item);
    else this.#waiting.set(party, [item]);
  }

  next(): T | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [party, items] = first;
    const item = items.shift();
    this.#waiting.delete(party);
    if (items.length > 0) this.#waiting.set(party, items);
    return item;
  }
}
