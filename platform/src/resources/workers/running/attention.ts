/** Decides whether a new job is a reason to look at its endpoint. Every job asks this, so it is answered from memory. */
import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerItem } from "./plan.ts";

/** An endpoint without workers is looked at only once in this time, however many jobs come. */
const QUIET_MS = 1000;

/** What the planner found when it looked at an endpoint. */
export interface Findings {
  /** Workers of the current release run or start. */
  isServed: boolean;
  /** Jobs still wait after the look, or workers that were started by hand take jobs. */
  mayWait: boolean;
  /** A frozen worker could take one more job. */
  isThawable: boolean;
}

export class Attention {
  readonly #clock: Clock;
  readonly #desk: WorkerDesk;
  /** Until this time a new job is no reason to look at its endpoint. It is infinite while the endpoint has workers. */
  readonly #quietUntil = new Map<string, number>();
  readonly #thawable = new Set<string>();

  constructor(parts: { clock: Clock; desk: WorkerDesk }) {
    this.#clock = parts.clock;
    this.#desk = parts.desk;
  }

  /** Whether this job is a reason to look. While there are workers this only takes one lookup in a map and one in a set. */
  wakesFor(endpoint: string): boolean {
    const until = this.#quietUntil.get(endpoint);
    const now = this.#clock.monotonic();
    const couldThaw = this.#thawable.has(endpoint) && !this.#desk.hasFree(endpoint);
    if (until !== undefined && until > now && !couldThaw) return false;
    this.#quietUntil.set(endpoint, now + QUIET_MS);
    return true;
  }

  note(endpoint: string, { isServed, mayWait, isThawable }: Findings): void {
    if (isServed) this.#quietUntil.set(endpoint, Number.POSITIVE_INFINITY);
    else if (mayWait) this.#quietUntil.set(endpoint, this.#clock.monotonic() + QUIET_MS);
    else this.#quietUntil.delete(endpoint);
    if (isThawable) this.#thawable.add(endpoint);
    else this.#thawable.delete(endpoint);
  }

  forget(endpoint: string): void {
    this.#quietUntil.delete(endpoint);
    this.#thawable.delete(endpoint);
  }

  /** Frees the memory of endpoints that had no new job lately. */
  forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [endpoint, until] of this.#quietUntil) if (until <= now) this.#quietUntil.delete(endpoint);
  }
}

/** Whether one of the endpoint's frozen workers could take one more job. */
export function isThawable({ workers: { max } }: KeptEndpoint, own: readonly WorkerItem[]): boolean {
  const running = own.filter((worker) => serves(worker) || worker.doc.state === "DRAINING").length;
  return running < max && own.some(({ doc }) => doc.state === "FROZEN");
}

/** Whether the worker runs or starts. */
export const serves = ({ doc }: WorkerItem) => ["PLACED", "STARTING", "READY"].includes(doc.state);
