/** Claims for endpoints where each worker serves one account only. The queue holds the binding; this decides whose turn it is. */
import type { Clock } from "../kernel/clock.ts";
import { because } from "../kernel/reason.ts";
import type { Job } from "../ports/queue/job.ts";
import type { Ask, Claimed, HolderState, Queue } from "../ports/queue/queue.ts";
import { type AccountLine, makesWayFor, nextAccount } from "./account-turns.ts";
import { isWithheld, type Session } from "./sessions.ts";
import type { WorkerCall, WorkerEvents } from "./worker-events.ts";

/** What is known about endpoints whose workers serve one account each. */
export interface Apartness {
  /** Since when that holds for the endpoint; undefined if it does not. Runs for every claim, so it must be fast. */
  apartSince(endpoint: string): number | undefined;
  /** When the worker was made; undefined for one that was started by hand. */
  startedAt(worker: string): Promise<number | undefined>;
}

export const nobodyIsApart: Apartness = { apartSince: () => undefined, startedAt: async () => undefined };

/** A worker serves its account for this long before it makes way for one that has no worker. Each change costs a cold start. */
export const SLICE_MS = 30_000;
/** After that, it looks this often whether it must. */
const LOOK_EVERY_MS = 1000;
/** A worker that was replaced for an account is expected for this long. */
const EXPECTED_MS = 120_000;
/** Other nodes learn of the change within a second. A worker made before they all know may have served anyone. */
const KNOWN_AFTER_MS = 3000;
/** Another worker may be faster to take an account's last job. */
const TRIES = 10;

interface Parts extends Apartness {
  queue: Pick<Queue, "claim" | "callers" | "counts" | "holders">;
  clock: Clock;
  events: Pick<WorkerEvents, "tired">;
}

/** What this node remembers about the accounts of an endpoint. */
class Turns {
  readonly chosen = new Map<string, number>();
  /** Accounts for which workers made way, and until when their replacements are expected. */
  expected: { caller: string; untilMs: number }[] = [];

  arrived(caller: string): void {
    this.chosen.set(caller, (this.chosen.get(caller) ?? 0) + 1);
    const at = this.expected.findIndex((one) => one.caller === caller);
    if (at >= 0) this.expected.splice(at, 1);
  }
}

export class OwnWorkers {
  readonly #parts: Parts;
  readonly #turns = new Map<string, Turns>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  isFor(endpoint: string): boolean {
    return this.#parts.apartSince(endpoint) !== undefined;
  }

  async claim(call: WorkerCall, session: Session, ask: Ask): Promise<Claimed[]> {
    const { clock, queue } = this.#parts;
    if (!(await this.#isFresh(call, session))) return this.#makeWay(call, session);
    const { serves } = session;
    if (serves && clock.monotonic() < serves.untilMs) {
      const claimed = await queue.claim({ ...ask, of: serves.caller });
      if (claimed.length > 0) return claimed;
    }
    for (let tries = 0; tries < TRIES && !isWithheld(session); tries++) {
      const caller = await this.#next(call, session);
      if (caller === undefined || isWithheld(session)) return [];
      const claimed = await queue.claim({ ...ask, of: caller });
      if (claimed.length > 0) {
        this.#took(call, session, caller);
        return claimed;
      }
    }
    return [];
  }

  /** A worker gets no job of another account back that it claims to have begun. */
  async mayResume({ endpoint, worker }: WorkerCall, job: Job): Promise<boolean> {
    if (!this.isFor(endpoint)) return true;
    const holders = await this.#parts.queue.holders(endpoint);
    return holders.find(({ holder }) => holder === worker)?.caller === (job.caller ?? "");
  }

  /** The account whose jobs the worker takes now. It makes way if it must. */
  async #next(call: WorkerCall, session: Session): Promise<string | undefined> {
    const { queue, clock } = this.#parts;
    const { endpoint, worker } = call;
    const [counts, callers, holders] = await Promise.all([
      queue.counts(endpoint),
      queue.callers(endpoint),
      queue.holders(endpoint),
    ]);
    const own = session.serves?.caller ?? holders.find(({ holder }) => holder === worker)?.caller;
    const others = holders.filter(({ holder }) => holder !== worker);
    const turns = this.#turnsOf(endpoint);
    turns.expected = turns.expected.filter(({ untilMs }) => untilMs > clock.monotonic());
    const withoutCaller = counts.inQueue - callers.reduce((sum, { inQueue }) => sum + inQueue, 0);
    const waiting = new Map([["", withoutCaller], ...callers.map(({ caller, inQueue }) => [caller, inQueue] as const)]);
    const lines = linesOf(waiting, others, turns.expected);
    if (own === undefined) return nextAccount(lines, (caller) => turns.chosen.get(caller) ?? 0)?.caller;
    const line = lines.find(({ caller }) => caller === own) ?? { caller: own, waiting: 0, workers: 0, idle: 0 };
    const mine = { ...line, workers: line.workers + 1 };
    const free = others.filter(({ caller, jobs }) => caller === undefined && jobs === 0).length;
    const other = session.madeWay ? undefined : makesWayFor(lines, mine, free);
    if (!other) return mine.waiting > 0 ? own : undefined;
    turns.expected.push({ caller: other.caller, untilMs: clock.monotonic() + EXPECTED_MS });
    this.#makeWay(call, session);
    return undefined;
  }

  /** A worker from before the change may have served anyone. */
  async #isFresh({ endpoint, worker }: WorkerCall, session: Session): Promise<boolean> {
    const since = this.#parts.apartSince(endpoint) ?? 0;
    if (session.freshSince === since) return true;
    const startedAt = await this.#parts.startedAt(worker);
    if (startedAt !== undefined && startedAt < since + KNOWN_AFTER_MS) return false;
    session.freshSince = since;
    return true;
  }

  #makeWay(call: WorkerCall, session: Session): Claimed[] {
    if (!session.madeWay) this.#parts.events.tired(call, because("account-change"));
    session.madeWay = true;
    return [];
  }

  #took({ endpoint }: WorkerCall, session: Session, caller: string): void {
    const isNew = session.serves === undefined;
    if (isNew) this.#turnsOf(endpoint).arrived(caller);
    const untilMs = this.#parts.clock.monotonic() + (isNew ? SLICE_MS : LOOK_EVERY_MS);
    session.serves = { caller, untilMs };
  }

  #turnsOf(endpoint: string): Turns {
    let turns = this.#turns.get(endpoint);
    if (!turns) {
      turns = new Turns();
      this.#turns.set(endpoint, turns);
    }
    return turns;
  }
}

function linesOf(
  waiting: ReadonlyMap<string, number>,
  holders: readonly HolderState[],
  expected: readonly { caller: string }[],
): AccountLine[] {
  const coming = (caller: string) => expected.filter((one) => one.caller === caller).length;
  return [...waiting].map(([caller, count]) => {
    const its = holders.filter((holder) => holder.caller === caller);
    const soon = coming(caller);
    const idle = its.filter(({ jobs }) => jobs === 0).length;
    return { caller, waiting: count, workers: its.length + soon, idle: idle + soon };
  });
}
