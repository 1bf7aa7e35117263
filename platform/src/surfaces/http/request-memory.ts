/** The memory that one request uses on the server. It counts for its account until the work is done and the answer has left. */
import type { ServerResponse } from "node:http";
import { type Admit, type BodyMemory, type Hold, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { ClientGone } from "./gone.ts";

export class RequestMemory implements Disposable {
  readonly #memory: BodyMemory;
  readonly #whose: string;
  readonly #response: ServerResponse;
  /** Most requests hold nothing that counts, so the list is made only when needed. */
  #holds: Hold[] | undefined;
  #gone: ClientGone | undefined;

  constructor(memory: BodyMemory, whose: string, response: ServerResponse) {
    this.#memory = memory;
    this.#whose = whose;
    this.#response = response;
  }

  /** Takes memory before this many bytes are read. A client that hangs up stops waiting. */
  take(bytes: number, waitMs?: number): Hold | Promise<Hold> {
    this.#gone ??= new ClientGone({ raw: this.#response });
    const taken = this.#memory.take(this.#whose, bytes, { gone: this.#gone, waitMs });
    if (!(taken instanceof Promise)) return this.#kept(taken);
    return taken.then((hold) => this.#kept(hold));
  }

  /** For a request that already holds memory: it must not wait for more while others wait for what it holds. */
  takeAtOnce(bytes: number): Hold {
    return this.#kept(this.#memory.takeAtOnce(this.#whose, bytes));
  }

  /** Counts bytes that are already in memory. */
  note(bytes: number): void {
    if (bytes > UNCOUNTED_BYTES) this.#kept(this.#memory.note(this.#whose, bytes));
  }

  /** Everything that the request held so far is no longer in memory. */
  release(): void {
    const holds = this.#holds;
    this.#holds = undefined;
    if (holds) for (const hold of holds) hold[Symbol.dispose]();
  }

  /**
   * The work is done, and the rest is released when the answer has left. If the client hung up earlier, nothing was released then, since
   * its bytes were still in use.
   */
  [Symbol.dispose](): void {
    if (!this.#holds) return;
    if (this.#response.destroyed) this.release();
    else this.#response.once("close", () => this.release());
  }

  #kept(hold: Hold): Hold {
    this.#holds ??= [];
    this.#holds.push(hold);
    return hold;
  }
}

/** For the queue, which loads the content of an answer, and for a handler that already has it. */
export const countedIn = (memory: RequestMemory): { admit: Admit; note: (bytes: number) => void } => ({
  admit: (bytes) => memory.take(bytes),
  note: (bytes) => memory.note(bytes),
});
