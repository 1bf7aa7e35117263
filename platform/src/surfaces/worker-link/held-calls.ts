/** Questions of workers that are held until there is something to say: each worker has a few of them. */
import { problem } from "../../kernel/problem.ts";

/** A worker needs one for work and one for stops. Several for each job at once, and some that it has let go of unnoticed, are fine too. */
export const HELD_OF_A_WORKER = 64;
/** Strangers are answered late; more of them than this at once are answered at once, since they hold connections meanwhile. */
const HELD_STRANGERS = 64;

export class HeldCalls {
  readonly #held = new Map<string, number>();
  #strangers = 0;

  /** Until it is disposed of; refused beyond the limit. */
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
