/** Workers that get no work: drained ones never again, frozen ones not until they ask again after the thaw. */
import type { Clock } from "../kernel/clock.ts";
import type { Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { Overruns } from "./overruns.ts";
import type { Pollers } from "./pollers.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { WorkerCall } from "./worker-events.ts";

export interface WithheldParts {
  queue: Queue;
  signals: Signals;
  clock: Clock;
  sessions: Sessions;
  pollers: Pollers;
  overruns: Overruns;
}

export class Withheld {
  readonly #parts: WithheldParts;

  constructor(parts: WithheldParts) {
    this.#parts = parts;
  }

  /** Gives the worker no more jobs and answers its open requests at once. Resolves to whether it still has jobs. */
  async drain(call: WorkerCall): Promise<boolean> {
    const session = this.#sessionOf(call);
    session.drained = true;
    this.#letGo(call, session);
    return this.#isBusy(call, session);
  }

  /**
   * Stops the worker with `stop` at a moment when it has no job, runs no lost one, and no job is on its way to it. Returns false if there
   * is no such moment.
   * Its open requests are answered with nothing once it has stopped, so that it asks again as soon as it is thawed. Otherwise a job sent to
   * it meanwhile would be dropped, because the worker's own timers run out at the thaw.
   */
  async freeze(call: WorkerCall, stop: () => Promise<void>): Promise<boolean> {
    const session = this.#sessionOf(call);
    session.frozen = true;
    try {
      const isBusy = (await this.#isBusy(call, session)) || this.#parts.overruns.mayHoldUp(call);
      if (isBusy) return this.#openAgain(call, session);
      await stop();
    } catch (error) {
      this.#openAgain(call, session);
      throw error;
    }
    this.#letGo(call, session);
    // A frozen worker sends no pings, so its silence must not count as a loss.
    await this.#parts.queue.retire(call.worker);
    return true;
  }

  isFrozen({ worker }: WorkerCall): boolean {
    return this.#parts.sessions.find(worker)?.frozen ?? false;
  }

  /** The worker is about to continue. Only requests that it makes from now on count. */
  thaw(call: WorkerCall): void {
    const session = this.#sessionOf(call);
    session.frozen = false;
    session.heard = false;
    session.stuckSince = undefined;
    session.activeAt = this.#parts.clock.now();
    this.#letGo(call, session);
  }

  /** Answers all open requests of the worker with nothing. Only requests that it makes from now on count. */
  letGo(call: WorkerCall): void {
    this.#letGo(call, this.#sessionOf(call));
  }

  #sessionOf({ worker, endpoint }: WorkerCall): Session {
    return this.#parts.sessions.of(worker, endpoint, this.#parts.clock.monotonic());
  }

  #letGo({ endpoint, worker }: WorkerCall, session: Session): void {
    session.round++;
    this.#parts.pollers.release(endpoint, worker);
    this.#parts.signals.emit(`stop:${worker}`);
  }

  #openAgain({ endpoint }: WorkerCall, session: Session): false {
    session.frozen = false;
    // Work that arrived meanwhile was offered to other workers only.
    this.#parts.signals.emit(`work:${endpoint}`);
    return false;
  }

  async #isBusy({ worker }: WorkerCall, { claims }: Session): Promise<boolean> {
    await Promise.allSettled([...claims]);
    return (await this.#parts.queue.held(worker)).length > 0;
  }
}
