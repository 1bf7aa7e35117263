/** Runs tasks one after another. Each begins when all before it have ended, whether they failed or not. */
import { floating } from "./floating.ts";

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves when all tasks given so far have ended. */
  get over(): Promise<unknown> {
    return this.#last;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Keeps one line of tasks for each name, so that a task waits only for tasks of its own name. */
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
    // `over` never rejects.
    floating(over.then(forget), () => {});
    return result;
  }
}
