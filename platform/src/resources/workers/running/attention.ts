/** Which endpoints a new job is a reason to look at: a question on the way of every job, answered from memory. */
import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerItem } from "./plan.ts";

/** An endpoint without workers that was just looked at is not looked at again for every job that comes. */
const QUIET_MS = 1000;

/** What a look at an endpoint found. */
export interface Findings {
  /** Workers of its release run or start. */
  isServed: boolean;
  /** Jobs wait although the look was for them, or workers that were started by hand take them. */
  mayWait: boolean;
  /** A frozen worker could take one more job. */
  isThawable: boolean;
}

export class Attention {
  readonly #clock: Clock;
  readonly #desk: WorkerDesk;
  /** Until when a job of an endpoint is no reason to look: for ever while it has workers. */
  readonly #quietUntil = new Map<string, number>();
  readonly #thawable = new Set<string>();

  constructor(parts: { clock: Clock; desk: WorkerDesk }) {
    this.#clock = parts.clock;
    this.#desk = parts.desk;
  }

  /** Whether this job is a reason to look. One look into a map and one into a set while there are workers. */
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

  /** Endpoints that nobody asked anything of lately cost no memory. */
  forgetOld(): void {
    const now = this.#clock.monotonic();
    for (const [endpoint, until] of this.#quietUntil) if (until <= now) this.#quietUntil.delete(endpoint);
  }
}

/** Whether one of an endpoint's frozen workers could take one more job. */
export function isThawable({ workers: { max } }: KeptEndpoint, own: readonly WorkerItem[]): boolean {
  const running = own.filter((worker) => serves(worker) || worker.doc.state === "DRAINING").length;
  return running < max && own.some(({ doc }) => doc.state === "FROZEN");
}

/** Whether it runs or starts. */
export const serves = ({ doc }: WorkerItem) => ["PLACED", "STARTING", "READY"].includes(doc.state);
