/** Claims of workers: how many jobs a worker gets, and of which callers. Jobs may also begin for a worker while it waits. */
import type { Clock } from "../kernel/clock.ts";
import type { Ask, Claimed, Queue } from "../ports/queue/queue.ts";
import type { OwnWorkers } from "./own-workers.ts";
import { TAKEN_BYTES } from "./payload-limits.ts";
import { fairShare, type Pollers } from "./pollers.ts";
import { isWithheld, type Session } from "./sessions.ts";
import { Standby } from "./standby.ts";
import type { Taking, WorkerCall } from "./worker-events.ts";

interface Parts {
  queue: Queue;
  clock: Clock;
  pollers: Pollers;
  /** Whether callers take turns. Runs for every claim, so it mostly answers at once. */
  isShared: (endpoint: string) => boolean | Promise<boolean>;
  own: OwnWorkers;
}

type Look = Pick<Taking, "limit" | "admit"> & { drained: () => void };

interface Stand extends Pick<Taking, "limit"> {
  /** Whether the worker's request still waits. */
  isOpen(): boolean;
  /** Called when jobs have begun for it. */
  came(): void;
}

export class Claims {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async of(call: WorkerCall, session: Session, { limit, admit, drained }: Look): Promise<Claimed[]> {
    const { queue, pollers, clock, isShared, own } = this.#parts;
    const { endpoint, worker } = call;
    const asksShared = isShared(endpoint);
    // An old answer would let a worker serve several accounts after the owner has said that each has workers of its own.
    const inTurns = typeof asksShared === "boolean" ? asksShared : await asksShared;
    const fair = limit === 1 ? 1 : await fairShare(pollers, queue, endpoint, limit);
    if (isWithheld(session)) return [];
    const except = [...session.listed];
    const ask: Ask = { endpoint, holder: worker, limit: fair, bytes: TAKEN_BYTES, now: clock.now(), except, drained };
    if (admit) ask.admit = admit;
    if (inTurns) ask.inTurns = true;
    const asked = ask.inTurns && own.isFor(endpoint) ? own.claim(call, session, ask) : queue.claim(ask);
    session.claims.add(asked);
    try {
      const claimed = await asked;
      noteBegun(session, claimed, ask.now);
      return claimed;
    } finally {
      session.claims.delete(asked);
    }
  }

  /**
   * From now on jobs may begin for this worker as they are submitted, where the queue does that. What depends on the worker or on callers is
   * left to claims.
   */
  standBy(call: WorkerCall, session: Session, { limit, isOpen, came }: Stand): Standby | undefined {
    const { queue, clock, isShared, own } = this.#parts;
    const { endpoint, worker: holder } = call;
    const isForAnyJob = () => isShared(endpoint) === false && !own.isFor(endpoint);
    if (!queue.standBy || !session.isWarm || !isForAnyJob()) return undefined;
    return new Standby({
      standBy: (begin) =>
        queue.standBy!({
          ...{ endpoint, holder, limit, begin, now: () => clock.now() },
          isOpen: () => !isWithheld(session) && isOpen() && isForAnyJob(),
        }),
      session,
      came: (claimed) => {
        noteBegun(session, claimed, clock.now());
        came();
      },
    });
  }
}

function noteBegun(session: Session, claimed: readonly Claimed[], now: number): void {
  if (claimed.length > 0) session.activeAt = now;
  for (const { job } of claimed) session.begun.set(job.id, { job, nextChunk: 1 });
}
