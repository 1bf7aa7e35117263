/** Sizes of a terminal on their way to its program: one after the other, not faster than a person sees, and of many that wait the last. */
import { type Clock, sleep } from "../kernel/clock.ts";
import { floating } from "../kernel/floating.ts";
import type { TerminalSize } from "../ports/compute/execution.ts";

/** Sizes that come faster, as while a window is drawn larger, are told as one: to each there may be a program that is started. */
export const RESIZE_MS = 50;

export class Resizes {
  readonly #clock: Clock;
  readonly #tell: (size: TerminalSize) => Promise<void> | undefined;
  #size: TerminalSize | undefined;
  #isTelling = false;

  constructor(clock: Clock, tell: (size: TerminalSize) => Promise<void> | undefined) {
    this.#clock = clock;
    this.#tell = tell;
  }

  set(size: TerminalSize): void {
    this.#size = size;
    if (this.#isTelling) return;
    this.#isTelling = true;
    // A program that has just ended has no terminal any more.
    floating(this.#tellAll(), () => {});
  }

  async #tellAll(): Promise<void> {
    try {
      for (let size = this.#size; size; size = this.#size) {
        this.#size = undefined;
        await this.#tell(size);
        await sleep(this.#clock, RESIZE_MS);
      }
    } finally {
      this.#isTelling = false;
    }
  }
}
