/** Tells at once when a client has hung up. */
import type { Gone } from "../../kernel/gone.ts";
import type { Reply } from "./reply.ts";

/** Aborted when the connection closes, or when the answer is complete. */
export class ClientGone implements Gone {
  aborted: boolean;
  /** Nearly always at most one listener waits, so a set is made only for more. */
  #first: (() => void) | undefined;
  #others: Set<() => void> | undefined;

  constructor({ raw }: Pick<Reply, "raw">) {
    this.aborted = raw.destroyed;
    if (!this.aborted) raw.on("close", () => this.#leave());
  }

  addEventListener(_type: "abort", heard: () => void): void {
    if (!this.#first || this.#first === heard) this.#first = heard;
    else {
      this.#others ??= new Set();
      this.#others.add(heard);
    }
  }

  removeEventListener(_type: "abort", heard: () => void): void {
    if (this.#first === heard) this.#first = undefined;
    else this.#others?.delete(heard);
  }

  #leave(): void {
    this.aborted = true;
    this.#first?.();
    if (this.#others) for (const heard of [...this.#others]) heard();
  }
}
