/** A bell that one part rings and others hear: whoever rings it neither knows who listens nor is made after them. */
export class Bell<T = void> {
  readonly #listeners = new Set<(what: T) => void>();

  /** Those who listen are told in the order in which they came. */
  readonly ring = (what: T): void => {
    for (const listener of this.#listeners) listener(what);
  };

  /** Until the function that this returns is called. */
  hear(listener: (what: T) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
