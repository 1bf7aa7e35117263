/** Requests of workers that are held until there is an answer. Each worker may have a limited number. */
import { problem } from "../../kernel/problem.ts";

/** A worker needs one for work and one for stops. Several per job, and some that it dropped unnoticed, are fine too. */
export const HELD_OF_A_WORKER = 64;
/** Strangers are answered late. Beyond this many they are answered at once, since each one held occupies a connection. */
const HELD_STRANGERS = 64;

export class HeldCalls {
  readonly #held = new Map<string, number>();
  #strangers = 0;

  /** Holds a request until disposed. Throws beyond the limit. */
  hold(worker: string): Disposable {
    const held = this.#held.get(worker) ?? 0;
    if (held >= HELD_OF_A_WORKER)
      throw problem(
        "too-much",
        `this worker has ${held} questions open already, of which each waits for work or for stops; end some of them first`,
        { retryAfterS: 5 },
      );
    this.#held.set(worker, held + 1);
    return { [Symbol.dispose]: () => this.#release(worker) };
  }

  /** Holds a stranger unless too many are held. */
  async holdStranger(wait: () => Promise<void>): Promise<void> {
    if (this.#strangers >= HELD_STRANGERS) return;
    this.#strangers++;
    try {
      await wait();
    } finally {
      this.#strangers--;
    }
  }

  #release(worker: string): void {
    const held = this.#held.get(worker)! - 1;
    if (held > 0) this.#held.set(worker, held);
    else this.#held.delete(worker);
  }
}
