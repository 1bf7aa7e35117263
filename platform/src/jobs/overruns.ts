/** Jobs that workers are still at although they are no longer their own: cancelled, timed out, or given to others. */
import type { Clock } from "../kernel/clock.ts";
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { HolderState, Queue } from "../ports/queue/queue.ts";
import type { Pollers } from "./pollers.ts";
import { atOrToldOf, type Session, type Sessions } from "./sessions.ts";
import { isSilent } from "./silence.ts";
import type { WorkerCall } from "./worker-events.ts";

/** A worker that has nothing of its own and asks for nothing, since it is still at something else. */
export interface Overrun {
  /** How long that has been known here. */
  forMs: number;
  /** What it is at, in words for people. */
  job: string;
}

/** What this node knows of workers that have no job by the queue. */
export interface Freedom {
  /** Those that are at something else all the same, by the name of the holder. */
  overruns: ReadonlyMap<string, Overrun>;
  /** How many speak to another node, which alone knows what they are at. */
  unknown: number;
}

export interface OverrunParts {
  queue: Queue;
  clock: Clock;
  sessions: Sessions;
  pollers: Pollers;
}

export class Overruns {
  readonly #parts: OverrunParts;

  constructor(parts: OverrunParts) {
    this.#parts = parts;
  }

  /** Those that the worker was not told to stop since its last ping. */
  async toStop(call: WorkerCall, session: Session): Promise<string[]> {
    const untold = [...session.listed, ...session.begun.keys()].filter((id) => !session.told.has(id));
    const { lost } = await this.#lost(call, new Set(untold));
    return [...lost.keys()];
  }

  /** Whether a worker is held up, as far as is known without asking the queue. */
  mayHoldUp({ endpoint, worker }: WorkerCall): boolean {
    const session = this.#parts.sessions.find(worker);
    return session !== undefined && atOrToldOf(session).size > 0 && !this.#parts.pollers.has(endpoint, worker);
  }

  /** One that asks for work has time for it, whatever else it is at; one that has a job of its own is busy with that. */
  async find(call: WorkerCall): Promise<Overrun | undefined> {
    const session = this.#parts.sessions.find(call.worker);
    if (!session) return undefined;
    const ids = this.mayHoldUp(call) ? atOrToldOf(session) : new Set<string>();
    const { held, lost } = await this.#lost(call, ids);
    if (held > 0 || lost.size === 0) {
      session.overrunSince = undefined;
      return undefined;
    }
    const now = this.#parts.clock.monotonic();
    session.overrunSince ??= now;
    const [first] = lost.values();
    return { forMs: now - session.overrunSince, job: inWords(first) };
  }

  /** What is known at this moment: the record of a worker is written later. */
  async freedomOf(holders: readonly HolderState[]): Promise<Freedom> {
    const free = holders.filter((holder) => holder.jobs === 0 && !isSilent(holder));
    const overruns = new Map<string, Overrun>();
    for (const { endpoint, holder: worker } of free) {
      const overrun = await this.find({ endpoint, worker });
      if (overrun) overruns.set(worker, overrun);
    }
    return { overruns, unknown: free.filter(({ holder }) => !this.#parts.sessions.find(holder)).length };
  }

  /** Of these jobs, those that the worker does not hold and did not end itself, and how many it holds in all. */
  async #lost(
    { endpoint, worker }: WorkerCall,
    ids: ReadonlySet<string>,
  ): Promise<{ held: number; lost: Map<string, Job | undefined> }> {
    const lost = new Map<string, Job | undefined>();
    if (ids.size === 0) return { held: 0, lost };
    const { queue, clock } = this.#parts;
    const held = new Set((await queue.held(worker)).map(({ id }) => id));
    for (const id of ids) {
      if (held.has(id)) continue;
      // A change that is not durable yet is told to nobody; the desk that makes it signals when it is.
      const reading = await queue.read(id, clock.now());
      const job = typeof reading === "object" && reading.job.endpoint === endpoint ? reading.job : undefined;
      const isGone = job?.state !== "IN_PROGRESS" || job.holder !== worker;
      // Our own library goes on listing a job until its result is confirmed, which the next take may hold up.
      if (isGone && !(job && isEndedBy(job, worker))) lost.set(id, job);
    }
    return { held: held.size, lost };
  }
}

/** Its worker reported the end itself, whatever that was: nobody took the job away from it. */
const isEndedBy = ({ state, holder, reason }: Job, worker: string) =>
  holder === worker && (state === "COMPLETED" || (state === "FAILED" && reason === undefined));

function inWords(job: Job | undefined): string {
  if (job?.state === "CANCELLED") return "a cancelled job";
  if (job?.state === "TIMED_OUT") return "a job that timed out";
  return job && !jobLifecycle.isFinal(job.state) ? "a job that was given to others" : "a job that is no longer its own";
}
