/** When the output of a program that has ended is over: at its end, or when what it left behind holds it open and says nothing. */
import type { Clock } from "../../kernel/clock.ts";

/** What is in a pipe at the end of a program is read much sooner. */
const QUIET_MS = 2000;

export class LastOutput {
  readonly #clock: Clock;
  #lastAt: number;
  /** Pieces that are on their way to the client, however slow that is. */
  #underWay = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastAt = clock.monotonic();
  }

  came(): void {
    this.#underWay++;
  }

  left(): void {
    this.#underWay--;
    this.#lastAt = this.#clock.monotonic();
  }

  /** To be asked once the program has ended. */
  async settled(ended: Promise<unknown>): Promise<void> {
    const quiet = Promise.withResolvers<void>();
    this.#lastAt = this.#clock.monotonic();
    const look = () => {
      if (this.#underWay === 0 && this.#clock.monotonic() - this.#lastAt >= QUIET_MS) quiet.resolve();
      else timer = this.#clock.after(QUIET_MS, look);
    };
    let timer = this.#clock.after(QUIET_MS, look);
    await Promise.race([ended, quiet.promise]);
    timer.cancel();
  }
}
