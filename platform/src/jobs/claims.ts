/** Claims of workers: how many jobs a worker gets, and of which callers. */
import type { Clock } from "../kernel/clock.ts";
import type { Ask, Claimed, Queue } from "../ports/queue/queue.ts";
import type { OwnWorkers } from "./own-workers.ts";
import { TAKEN_BYTES } from "./payload-limits.ts";
import { fairShare, type Pollers } from "./pollers.ts";
import { isWithheld, type Session } from "./sessions.ts";
import type { Taking, WorkerCall } from "./worker-events.ts";

interface Parts {
  queue: Queue;
  clock: Clock;
  pollers: Pollers;
  /** Whether callers take turns. Runs for every claim, so it must be fast. */
  isShared: (endpoint: string) => boolean;
  own: OwnWorkers;
}

type Look = Pick<Taking, "limit" | "admit"> & { drained: () => void };

export class Claims {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async of(call: WorkerCall, session: Session, { limit, admit, drained }: Look): Promise<Claimed[]> {
    const { queue, pollers, clock, isShared, own } = this.#parts;
    const { endpoint, worker } = call;
    const fair = limit === 1 ? 1 : await fairShare(pollers, queue, endpoint, limit);
    if (isWithheld(session)) return [];
    const except = [...session.listed];
    const ask: Ask = { endpoint, holder: worker, limit: fair, bytes: TAKEN_BYTES, now: clock.now(), except, drained };
    if (admit) ask.admit = admit;
    if (isShared(endpoint)) ask.inTurns = true;
    const asked = ask.inTurns && own.isFor(endpoint) ? own.claim(call, session, ask) : queue.claim(ask);
    session.claims.add(asked);
    try {
      const claimed = await asked;
      if (claimed.length > 0) session.activeAt = ask.now;
      for (const { job } of claimed) session.begun.set(job.id, { job, nextChunk: 1 });
      return claimed;
    } finally {
      session.claims.delete(asked);
    }
  }
}
