/** Runs tasks one after another, each once those before it are over, however they ended. */
import { floating } from "./floating.ts";

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when all that it was given so far is over. */
  get over(): Promise<unknown> {
    return this.#last;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** The same for tasks of many, each of whom waits for its own alone. */
export class OneAtATimeEach {
  readonly #lines = new Map<string, OneAtATime>();

  run<T>(whose: string, task: () => Promise<T>): Promise<T> {
    let line = this.#lines.get(whose);
    if (!line) {
      line = new OneAtATime();
      this.#lines.set(whose, line);
    }
    const result = line.run(task);
    const { over } = line;
    const forget = () => {
      if (line.over === over) this.#lines.delete(whose);
    };
    // It never fails.
    floating(over.then(forget), () => {});
    return result;
  }
}
