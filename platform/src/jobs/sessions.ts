/** What this node knows about the workers that talk to it: the jobs they have, the jobs they list, and the jobs they must stop. */
import type { Job } from "../ports/queue/job.ts";

export interface Begun {
  job: Job;
  /** The number of the next chunk. It is unknown until the first one if the job began before this node started. */
  nextChunk: number | undefined;
}

export interface Session {
  endpoint: string;
  seenAt: number;
  /** Jobs that this node handed out and that were not reported yet. */
  begun: Map<string, Begun>;
  /** Jobs that the last ping named and that were not reported since then. */
  listed: Set<string>;
  /** Jobs that the worker holds and was seen running: by a ping, a chunk or progress. */
  seen: Set<string>;
  /** Jobs that the worker holds, with the time since which every ping has left them out. */
  omitted: Map<string, number>;
  /** Jobs that the worker was told to stop since its last ping. It polls again at once and needs to hear of each only once. */
  told: Set<string>;
  /** When the worker last took or ended a job, or else when it was first heard from. */
  activeAt: number;
  /** Whether the worker has talked to this node since its last thaw, or at all if it was never frozen. */
  heard: boolean;
  /** Whether the worker needs no warm-up or has finished it. */
  isWarm: boolean;
  /** How many pings in a row have left out the worker's warm-up. */
  warmUpOmitted: number;
  /** The worker gets no more jobs. */
  drained: boolean;
  /** The worker gets no jobs until it is thawed and asks again. */
  frozen: boolean;
  /** Changes whenever the worker is released, so that requests from before that get nothing. */
  round: number;
  /** The account that the worker serves, where it may serve only one, and how long it does so before it makes way. */
  serves: { caller: string; untilMs: number } | undefined;
  /** Since when the worker is known to have served nobody else: the moment from which its endpoint wants that. */
  freshSince: number | undefined;
  /** The worker was asked to make way for another account. */
  madeWay: boolean;
  /** Claims of this worker that the queue has not answered yet. */
  claims: Set<Promise<unknown>>;
  /** Since when the worker's pings have listed only jobs that are no longer its own. */
  stuckSince: number | undefined;
  /** Since when this node has known that the worker runs only lost jobs and asks for none. */
  overrunSince: number | undefined;
}

/** This node forgets a worker that was silent for this long. Everything important about it is in the queue. */
const FORGET_MS = 600_000;
const SWEEP_AT = 1000;

export class Sessions {
  readonly #sessions = new Map<string, Session>();

  of(worker: string, endpoint: string, now: number): Session {
    let session = this.#sessions.get(worker);
    if (!session) {
      if (this.#sessions.size >= SWEEP_AT) this.#forgetOld(now);
      session = newSession(endpoint, now);
      this.#sessions.set(worker, session);
    }
    session.seenAt = now;
    return session;
  }

  find(worker: string): Session | undefined {
    return this.#sessions.get(worker);
  }

  forget(worker: string): void {
    this.#sessions.delete(worker);
  }

  #forgetOld(now: number): void {
    for (const [worker, { seenAt }] of this.#sessions) if (seenAt + FORGET_MS < now) this.#sessions.delete(worker);
  }
}

function newSession(endpoint: string, now: number): Session {
  const jobs = { begun: new Map(), listed: new Set<string>(), seen: new Set<string>(), omitted: new Map() };
  const times = { seenAt: now, activeAt: now, stuckSince: undefined, overrunSince: undefined };
  const standing = { heard: false, isWarm: false, warmUpOmitted: 0, drained: false, frozen: false, round: 0 };
  const accounts = { serves: undefined, freshSince: undefined, madeWay: false };
  return { endpoint, ...jobs, told: new Set(), ...times, ...standing, ...accounts, claims: new Set() };
}

/** Jobs that the worker may be running: handed out, listed by its last ping, or to be stopped since then. */
export const atOrToldOf = ({ begun, listed, told }: Session): ReadonlySet<string> =>
  new Set([...begun.keys(), ...listed, ...told]);

export const isAtAny = ({ begun, listed, told }: Session) => begun.size + listed.size + told.size > 0;

/** A withheld worker must not get jobs now. */
export const isWithheld = ({ drained, frozen }: Session) => drained || frozen;

/** A worker has this long to stop a job before it counts as stuck. */
export const STOP_GRACE_MS = 10_000;

/** A blocking handler cannot be stopped from inside its worker. The ping runs separately and keeps listing the job. */
export function isStuck(session: Session, listsOnlyOthers: boolean, nowMs: number): boolean {
  if (!listsOnlyOthers) session.stuckSince = undefined;
  else session.stuckSince ??= nowMs;
  return session.stuckSince !== undefined && nowMs - session.stuckSince >= STOP_GRACE_MS;
}

/** A job that its worker is not running, and what is known about the cause. */
export interface Omitted {
  job: Job;
  why: string;
}

/** A worker that pings more often than others still gets this long to read a new job, also on a busy machine. */
export const OMITTED_MS = 5000;

/**
 * Returns jobs that every ping has left out for `OMITTED_MS`, usually two pings in a row. The worker never began them, or it stopped and
 * the result did not arrive. A returned job is no longer tracked. The first ping after a job began only starts the time.
 */
export function omittedTwice(
  session: Session,
  held: readonly Job[],
  listed: ReadonlySet<string>,
  nowMs: number,
): Omitted[] {
  const lost: Omitted[] = [];
  const omitted = new Map<string, number>();
  for (const job of held) {
    if (listed.has(job.id)) continue;
    const sinceMs = session.omitted.get(job.id) ?? nowMs;
    if (nowMs - sinceMs >= OMITTED_MS) lost.push({ job, why: session.seen.has(job.id) ? WAS_AT_IT : NOT_SEEN_AT_IT });
    else omitted.set(job.id, sinceMs);
  }
  session.omitted = omitted;
  session.seen = new Set(held.map(({ id }) => id).filter((id) => listed.has(id) || session.seen.has(id)));
  return lost;
}

const WAS_AT_IT = "was at the job and no longer is, and no result of it arrived";
/** A short job may begin and end between two pings, so this does not claim that the worker never began it. */
const NOT_SEEN_AT_IT = "took the job and is not at it: it never began it, or its result did not arrive";

/**
 * Versions 1.7.11 to 1.10.0 of the SDK kept the job list in a file that workers on one volume shared, so the listed jobs may belong to
 * others.
 */
export function listsAreTrusted(sdkVersion: string | undefined): boolean {
  const [major = 0, minor = 0, patch = 0] = (sdkVersion ?? "").split(".").map((part) => Number.parseInt(part, 10) || 0);
  if (major !== 1) return true;
  const number = minor * 1000 + patch;
  return number < 7011 || number > 10_000;
}
