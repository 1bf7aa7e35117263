/** Workers that get no work: drained for good, or frozen until they ask anew after the thaw. */
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

  /** It gets nothing more, and what it asks for is answered at once. Resolves with whether it still has jobs. */
  async drain(call: WorkerCall): Promise<boolean> {
    const session = this.#sessionOf(call);
    session.drained = true;
    this.#letGo(call, session);
    return this.#isBusy(call, session);
  }

  /**
   * Stops the worker with `stop` at a moment at which it has no job, is at none that it had, and none is on its way to it; false when
   * there is no such moment.
   * What it has asked for is answered with nothing once it stands still, so that it asks anew as soon as it is thawed: a job that
   * was written there meanwhile would be dropped, since the worker's own timers run out on the thaw.
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
    // Its silence from now on says nothing: it is not heard of, and nobody waits for its pings.
    await this.#parts.queue.retire(call.worker);
    return true;
  }

  isFrozen({ worker }: WorkerCall): boolean {
    return this.#parts.sessions.find(worker)?.frozen ?? false;
  }

  /** It is about to go on: what it asks from now on counts, and nothing that it asked before. */
  thaw(call: WorkerCall): void {
    const session = this.#sessionOf(call);
    session.frozen = false;
    session.heard = false;
    session.stuckSince = undefined;
    session.activeAt = this.#parts.clock.now();
    this.#letGo(call, session);
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
    // Work that came meanwhile passed it by.
    this.#parts.signals.emit(`work:${endpoint}`);
    return false;
  }

  async #isBusy({ worker }: WorkerCall, { claims }: Session): Promise<boolean> {
    await Promise.allSettled([...claims]);
    return (await this.#parts.queue.held(worker)).length > 0;
  }
}
