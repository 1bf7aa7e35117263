/** What this node knows of the workers that talk to it: their jobs, what they list, and what they must stop. */
import type { Job } from "../ports/queue/job.ts";

export interface Begun {
  job: Job;
  /** Number of the chunk that comes next; unknown until the first one when the job began before this node did. */
  nextChunk: number | undefined;
}

export interface Session {
  endpoint: string;
  seenAt: number;
  /** Jobs handed out here and not reported yet. */
  begun: Map<string, Begun>;
  /** Jobs that the last ping named and that were not reported since. */
  listed: Set<string>;
  /** Jobs that it holds and was seen to be at: by a ping, a chunk or progress. */
  seen: Set<string>;
  /** Since when every ping has left out a job that the worker holds. */
  omitted: Map<string, number>;
  /** Stops already told since the last ping: a worker polls again at once, and needs each only once. */
  told: Set<string>;
  /** When a job was last taken or ended; at first, when the worker was first heard of. */
  activeAt: number;
  /** It has spoken to this node, since it was thawed if it ever was. */
  heard: boolean;
  /** It needs no warm-up, or has had it. */
  isWarm: boolean;
  /** How many pings in a row have left out its warm-up. */
  warmUpOmitted: number;
  /** It gets nothing more. */
  drained: boolean;
  /** It gets nothing until it is thawed and asks anew. */
  frozen: boolean;
  /** Changes whenever the worker is let go: what it asked before that gets nothing. */
  round: number;
  /** Asks for jobs that the queue has not answered yet. */
  claims: Set<Promise<unknown>>;
  /** Since when the worker has been busy with nothing but jobs that are no longer its own. */
  stuckSince: number | undefined;
  /** Since when it has been known to be at such jobs alone, and to ask for nothing. */
  overrunSince: number | undefined;
}

/** A worker unheard of for this long is forgotten; what matters of it is in the queue. */
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
  return { endpoint, ...jobs, told: new Set(), ...times, ...standing, claims: new Set() };
}

/** Jobs that the worker may be at: handed out, listed by its last ping, or to be stopped since then. */
export const atOrToldOf = ({ begun, listed, told }: Session): ReadonlySet<string> =>
  new Set([...begun.keys(), ...listed, ...told]);

/** It must not be given anything now. */
export const isWithheld = ({ drained, frozen }: Session) => drained || frozen;

/** A worker gets this long to stop a job before it counts as stuck with it. */
export const STOP_GRACE_MS = 10_000;

/** A blocking handler cannot be stopped from within its worker: the ping, which comes from elsewhere, goes on listing the job. */
export function isStuck(session: Session, listsOnlyOthers: boolean, nowMs: number): boolean {
  if (!listsOnlyOthers) session.stuckSince = undefined;
  else session.stuckSince ??= nowMs;
  return session.stuckSince !== undefined && nowMs - session.stuckSince >= STOP_GRACE_MS;
}

/** A job that its worker is not at, and what is known of how that came about. */
export interface Omitted {
  job: Job;
  why: string;
}

/** A worker that pings more often than others still gets this long to read the job that it was given, on a machine that is busy too. */
export const OMITTED_MS = 5000;

/**
 * Jobs that a worker has left out of two pings in a row, or of as many as it sends meanwhile: it never began them, or stopped without a
 * result that arrived. Returns them and forgets the time. A job begun since the last ping is not missed by it.
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
/** A short job may have been begun and ended between two pings. */
const NOT_SEEN_AT_IT = "took the job and is not at it: it never began it, or its result did not arrive";

/** These releases kept their job list in a file that workers on one volume shared: what they list is not their own. */
export function listsAreTrusted(sdkVersion: string | undefined): boolean {
  const [major = 0, minor = 0, patch = 0] = (sdkVersion ?? "").split(".").map((part) => Number.parseInt(part, 10) || 0);
  if (major !== 1) return true;
  const number = minor * 1000 + patch;
  return number < 7011 || number > 10_000;
}
