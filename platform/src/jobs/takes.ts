/** Requests of workers for jobs: they look, wait until there may be work, and look again. */
import type { Clock } from "../kernel/clock.ts";
import type { Job } from "../ports/queue/job.ts";
import type { Claimed } from "../ports/queue/queue.ts";
import type { Claims } from "./claims.ts";
import type { OwnWorkers } from "./own-workers.ts";
import type { PollerPlace, Pollers } from "./pollers.ts";
import { isWithheld, type Session } from "./sessions.ts";
import { OpenQuestion } from "./silence.ts";
import type { Standby } from "./standby.ts";
import { beginWarmUp, type WarmUps } from "./warm-up.ts";
import type { Taking, WorkerCall } from "./worker-events.ts";

/** A drained worker asks again as soon as it is answered, so it is held for a while. It is about to end, so it must not wait long. */
const DRAINED_HOLD_MS = 1000;

interface Parts {
  clock: Clock;
  pollers: Pollers;
  claims: Claims;
  own: OwnWorkers;
  warmUps: WarmUps;
  heard(call: WorkerCall): Session;
  renew(call: WorkerCall): void;
  handBack(call: WorkerCall, jobs: Job[]): Promise<void>;
}

/** One request, with what is known of its worker. */
interface Asked extends Taking {
  call: WorkerCall;
  session: Session;
  place: PollerPlace;
  /** The client is gone, or the worker was released from all that it had asked for. */
  isOver(): boolean;
}

export class Takes {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async take(call: WorkerCall, taking: Taking): Promise<Claimed[]> {
    const { clock, pollers, heard, renew, handBack } = this.#parts;
    const session = heard(call);
    const { round } = session;
    const untilMs = clock.monotonic() + holdOf(session, taking.waitMs);
    using place = pollers.join(call.endpoint, call.worker);
    using open = new OpenQuestion(clock, () => renew(call));
    const isOver = () => taking.gone.aborted || session.round !== round;
    const asked: Asked = { ...taking, call, session, place, isOver };
    for (let isCalled = true; isCalled && !isOver() && !pollers.closed; ) {
      let claimed = await this.#look(asked);
      if (claimed.length === 0) {
        const waiting = place.woken(untilMs, taking.gone);
        const standby = this.#standBy(asked);
        isCalled = await open.during(waiting);
        // It was called for another job than those that are just beginning.
        if (isCalled && standby?.isBeginning) place.passOn();
        // A job may take as long to begin as the disk takes. A call that comes meanwhile must not wait for that.
        if (standby) claimed = await place.aside(standby.end());
      }
      if (claimed.length === 0) continue;
      // The worker may have waited for longer than a silent worker counts as alive.
      heard(call);
      if (!isOver()) return claimed;
      const jobs = claimed.map(({ job }) => job);
      await handBack(call, jobs);
    }
    if (!isOver()) heard(call);
    return [];
  }

  async #look({ call, session, place, limit, admit }: Asked): Promise<Claimed[]> {
    const { clock, claims, own, warmUps } = this.#parts;
    if (isWithheld(session)) {
      place.passOn();
      return [];
    }
    const first = session.isWarm ? undefined : await beginWarmUp(warmUps, call, session, clock.now());
    if (first === "wait") {
      place.passOn();
      return [];
    }
    if (first) return [first];
    if (place.isPointless()) return [];
    const claimed = await claims.of(call, session, { limit, admit, drained: place.look() });
    // The worker may have been called for a job that it must not have. Then another worker is called.
    if (claimed.length === 0 && (session.listed.size > 0 || own.isFor(call.endpoint))) place.passOn();
    return claimed;
  }

  /** While it waits, jobs may begin for this worker, which ends the wait. */
  #standBy({ call, session, place, limit, isOver }: Asked): Standby | undefined {
    if (!place.isWaiting()) return undefined;
    const isOpen = () => !isOver() && place.isWaiting();
    return this.#parts.claims.standBy(call, session, { limit, isOpen, came: () => place.stop() });
  }
}

export const holdOf = ({ drained }: Session, waitMs: number) => (drained ? Math.min(waitMs, DRAINED_HOLD_MS) : waitMs);
