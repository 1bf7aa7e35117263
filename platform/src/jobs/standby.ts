/** A worker's request for work that stands by in the queue while it waits, so that jobs begin for it as they are submitted. */
import type { Claimed, StandbyAsk } from "../ports/queue/queue.ts";
import type { Session } from "./sessions.ts";

interface Parts {
  /** Stands by in the queue until the returned function is called or jobs begin. */
  standBy(begin: StandbyAsk["begin"]): () => void;
  session: Pick<Session, "claims">;
  /** Called when jobs have begun. */
  came(claimed: Claimed[]): void;
}

export class Standby {
  readonly #parts: Parts;
  #leave: () => void;
  #coming: Promise<void> | undefined;
  /** Whether jobs are about to begin. */
  isBeginning = false;
  #claimed: Claimed[] = [];
  #isOver = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#leave = this.#standBy();
  }

  /** No job begins from now on. Resolves to those that have begun, or are just beginning. */
  async end(): Promise<Claimed[]> {
    this.#isOver = true;
    this.#leave();
    await this.#coming;
    return this.#claimed;
  }

  #standBy(): () => void {
    return this.#parts.standBy((jobs) => {
      this.#coming = this.#receive(jobs);
    });
  }

  /** Whoever must know whether the worker is being given a job waits for this one like for a claim. */
  async #receive(jobs: Promise<Claimed[]>): Promise<void> {
    const { session, came } = this.#parts;
    session.claims.add(jobs);
    this.isBeginning = true;
    this.#claimed = await jobs;
    this.isBeginning = false;
    session.claims.delete(jobs);
    if (this.#claimed.length > 0) came(this.#claimed);
    // The jobs wait instead.
    else if (!this.#isOver) this.#leave = this.#standBy();
  }
}
