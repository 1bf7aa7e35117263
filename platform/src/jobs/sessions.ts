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
  /** How many pings in a row have left out a job that the worker holds. */
  omitted: Map<string, number>;
  /** Stops already told since the last ping: a worker polls again at once, and needs each only once. */
  told: Set<string>;
  /** When a job was last taken or ended; at first, when the worker was first heard of. */
  activeAt: number;
  /** It has spoken to this node, since it was thawed if it ever was. */
  heard: boolean;
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
  const jobs = { begun: new Map(), listed: new Set<string>(), omitted: new Map(), told: new Set<string>() };
  const times = { seenAt: now, activeAt: now, stuckSince: undefined };
  const standing = { heard: false, drained: false, frozen: false, round: 0 };
  return { endpoint, ...jobs, ...times, ...standing, claims: new Set() };
}

/** It must not be given anything now. */
export const isWithheld = ({ drained, frozen }: Session) => drained || frozen;

/** A worker gets this long to stop a job before it counts as stuck with it. */
const STOP_GRACE_MS = 10_000;

/** A blocking handler cannot be stopped from within its worker: the ping, which comes from elsewhere, goes on listing the job. */
export function isStuck(session: Session, listsOnlyOthers: boolean, nowMs: number): boolean {
  if (!listsOnlyOthers) session.stuckSince = undefined;
  else session.stuckSince ??= nowMs;
  return session.stuckSince !== undefined && nowMs - session.stuckSince >= STOP_GRACE_MS;
}

/**
 * Jobs that a worker has left out of two pings in a row: it took them and never began. Returns them and forgets the count.
 * A job begun since the last ping is not missed by it.
 */
export function omittedTwice(session: Session, held: readonly Job[], listed: ReadonlySet<string>): Job[] {
  const lost: Job[] = [];
  const omitted = new Map<string, number>();
  for (const job of held) {
    if (listed.has(job.id)) continue;
    const times = (session.omitted.get(job.id) ?? 0) + 1;
    if (times >= 2) lost.push(job);
    else omitted.set(job.id, times);
  }
  session.omitted = omitted;
  return lost;
}

/** These releases kept their job list in a file that workers on one volume shared: what they list is not their own. */
export function listsAreTrusted(sdkVersion: string | undefined): boolean {
  const [major = 0, minor = 0, patch = 0] = (sdkVersion ?? "").split(".").map((part) => Number.parseInt(part, 10) || 0);
  if (major !== 1) return true;
  const number = minor * 1000 + patch;
  return number < 7011 || number > 10_000;
}
