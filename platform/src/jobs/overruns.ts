/** Finds jobs that workers still run although they lost them: cancelled, timed out, or given to other workers. */
import type { Clock } from "../kernel/clock.ts";
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { HolderState, Queue } from "../ports/queue/queue.ts";
import type { Pollers } from "./pollers.ts";
import { atOrToldOf, isAtAny, type Session, type Sessions } from "./sessions.ts";
import { isSilent } from "./silence.ts";
import type { WorkerCall } from "./worker-events.ts";

/** A worker that holds no job and asks for none, because it still runs a job that it lost. */
export interface Overrun {
  /** How long this node has known about it. */
  forMs: number;
  /** The job it still runs, in words for people. */
  job: string;
}

/** What this node knows about workers that hold no job in the queue. */
export interface Freedom {
  /** Workers that still run a lost job, by their holder name. */
  overruns: ReadonlyMap<string, Overrun>;
  /** How many workers talk to another node, which alone knows what they run. */
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

  /** Returns the lost jobs that the worker was not told to stop since its last ping. */
  async toStop(call: WorkerCall, session: Session): Promise<string[]> {
    const untold = [...session.listed, ...session.begun.keys()].filter((id) => !session.told.has(id));
    const { lost } = await this.#lost(call, new Set(untold));
    return [...lost.keys()];
  }

  /** Whether the worker may be at a job, its own or one that it lost, as far as this node knows. */
  isAtJob(worker: string): boolean {
    const session = this.#parts.sessions.find(worker);
    return session !== undefined && isAtAny(session);
  }

  /** Reports whether a lost job may keep a worker busy, as far as this node knows without asking the queue. */
  mayHoldUp({ endpoint, worker }: WorkerCall): boolean {
    const session = this.#parts.sessions.find(worker);
    return session !== undefined && isAtAny(session) && !this.#parts.pollers.has(endpoint, worker);
  }

  /** Whether nothing holds the worker up, as far as this node knows without asking the queue. Otherwise `find` tells. */
  isFree(call: WorkerCall): boolean {
    if (this.mayHoldUp(call)) return false;
    const session = this.#parts.sessions.find(call.worker);
    if (session) session.overrunSince = undefined;
    return true;
  }

  /** A worker that asks for work is free, whatever else it runs. A worker that holds a job is busy with that job. */
  async find(call: WorkerCall): Promise<Overrun | undefined> {
    const session = this.#parts.sessions.find(call.worker);
    if (!session || this.isFree(call)) return undefined;
    const { held, lost } = await this.#lost(call, atOrToldOf(session));
    if (held > 0 || lost.size === 0) {
      session.overrunSince = undefined;
      return undefined;
    }
    const now = this.#parts.clock.monotonic();
    session.overrunSince ??= now;
    const [first] = lost.values();
    return { forMs: now - session.overrunSince, job: inWords(first) };
  }

  /** Returns what is known right now. The worker's record is written later. */
  async freedomOf(holders: readonly HolderState[]): Promise<Freedom> {
    const free = holders.filter((holder) => holder.jobs === 0 && !isSilent(holder));
    const overruns = new Map<string, Overrun>();
    for (const { endpoint, holder: worker } of free) {
      const call = { endpoint, worker };
      // Nearly all are free, and there may be thousands.
      const overrun = this.isFree(call) ? undefined : await this.find(call);
      if (overrun) overruns.set(worker, overrun);
    }
    return { overruns, unknown: free.filter(({ holder }) => !this.#parts.sessions.find(holder)).length };
  }

  /** Returns which of these jobs the worker neither holds nor ended itself, and how many it holds in all. */
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
      // A change that is not durable yet is not announced. The worker desk signals when it is durable.
      const reading = await queue.read(id, clock.now());
      const job = typeof reading === "object" && reading.job.endpoint === endpoint ? reading.job : undefined;
      const isGone = job?.state !== "IN_PROGRESS" || job.holder !== worker;
      // Our own worker library keeps listing a job until its result is confirmed, and the next take may delay that confirmation.
      if (isGone && !(job && isEndedBy(job, worker))) lost.set(id, job);
    }
    return { held: held.size, lost };
  }
}

/** The worker reported the end itself, so nobody took the job away from it. */
const isEndedBy = ({ state, holder, reason }: Job, worker: string) =>
  holder === worker && (state === "COMPLETED" || (state === "FAILED" && reason === undefined));

function inWords(job: Job | undefined): string {
  if (job?.state === "CANCELLED") return "a cancelled job";
  if (job?.state === "TIMED_OUT") return "a job that timed out";
  return job && !jobLifecycle.isFinal(job.state) ? "a job that was given to others" : "a job that is no longer its own";
}
