/** Tells when an ended program's output is over: at its end, or when leftover processes hold it open and write nothing. */
import type { Clock } from "../../kernel/clock.ts";

/** Bytes left in a pipe when a program ends are read much sooner than this. */
const QUIET_MS = 2000;

export class LastOutput {
  readonly #clock: Clock;
  #lastAt: number;
  /** How many pieces are on their way to the client, however slow it is. */
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

  /** Must be called once the program has ended. */
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
