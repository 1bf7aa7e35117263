/** Knowing at once that a client has hung up. */
import type { Gone } from "../../kernel/gone.ts";
import type { Reply } from "./reply.ts";

/** Gone when the connection goes, or when the answer is complete. */
export class ClientGone implements Gone {
  aborted: boolean;
  readonly #heard = new Set<() => void>();

  constructor({ raw }: Pick<Reply, "raw">) {
    this.aborted = raw.destroyed;
    if (!this.aborted) raw.on("close", () => this.#leave());
  }

  addEventListener(_type: "abort", heard: () => void): void {
    this.#heard.add(heard);
  }

  removeEventListener(_type: "abort", heard: () => void): void {
    this.#heard.delete(heard);
  }

  #leave(): void {
    this.aborted = true;
    for (const heard of [...this.#heard]) heard();
  }
}
