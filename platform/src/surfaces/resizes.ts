/** Passes terminal sizes on to the program: one at a time, no faster than a person sees, and only the last of those that wait. */
import { type Clock, sleep } from "../kernel/clock.ts";
import { floating } from "../kernel/floating.ts";
import type { TerminalSize } from "../ports/compute/execution.ts";

/** Sizes that arrive faster than this, as while a window is being dragged, are passed on as one. Each may cost the start of a program. */
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
    // The error is ignored: a program that has just ended has no terminal to resize.
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
