/** What one request has of the server's memory: counted for its account until the work is over and the answer has left. */
import type { ServerResponse } from "node:http";
import { type Admit, type BodyMemory, type Hold, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { ClientGone } from "./gone.ts";

export class RequestMemory implements Disposable {
  readonly #memory: BodyMemory;
  readonly #whose: string;
  readonly #response: ServerResponse;
  /** Most requests have nothing that counts, and need no list. */
  #holds: Hold[] | undefined;
  #gone: ClientGone | undefined;

  constructor(memory: BodyMemory, whose: string, response: ServerResponse) {
    this.#memory = memory;
    this.#whose = whose;
    this.#response = response;
  }

  /** Before so many bytes are read. A client that hangs up waits no longer. */
  take(bytes: number, waitMs?: number): Hold | Promise<Hold> {
    this.#gone ??= new ClientGone({ raw: this.#response });
    const taken = this.#memory.take(this.#whose, bytes, { gone: this.#gone, waitMs });
    if (!(taken instanceof Promise)) return this.#kept(taken);
    return taken.then((hold) => this.#kept(hold));
  }

  /** For a request that has some already: it must not wait for more while it keeps others waiting for these. */
  takeAtOnce(bytes: number): Hold {
    return this.#kept(this.#memory.takeAtOnce(this.#whose, bytes));
  }

  /** Of what is in memory already. */
  note(bytes: number): void {
    if (bytes > UNCOUNTED_BYTES) this.#kept(this.#memory.note(this.#whose, bytes));
  }

  /** All that it has so far is no longer in memory. */
  release(): void {
    const holds = this.#holds;
    this.#holds = undefined;
    if (holds) for (const hold of holds) hold[Symbol.dispose]();
  }

  /** The work is over: what is left goes with the answer. A client that hung up before does not take along what is still being read. */
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

/** For the queue that loads what the answer is made of, and for a handler that has it already. */
export const countedIn = (memory: RequestMemory): { admit: Admit; note: (bytes: number) => void } => ({
  admit: (bytes) => memory.take(bytes),
  note: (bytes) => memory.note(bytes),
});
