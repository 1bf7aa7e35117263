/** A bell that one part rings and others hear. The part that rings it does not know its listeners and can be made before them. */
export class Bell<T = void> {
  readonly #listeners = new Set<(what: T) => void>();

  /** Tells the listeners in the order in which they registered. */
  readonly ring = (what: T): void => {
    for (const listener of this.#listeners) listener(what);
  };

  /** Calls `listener` at every ring until the returned function is called. */
  hear(listener: (what: T) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
