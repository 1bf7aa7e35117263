/** One request of a guest to a shared load-balancing endpoint: what it pays, and what it learns when it fails. */
import { chargeForRequest } from "../../jobs/charge.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { Guest } from "../../resources/public-endpoints/service.ts";

interface Parts {
  queue: Pick<Queue, "charge">;
  clock: Clock;
  account: string;
  endpoint: string;
  guest: Guest;
}

/** From this status on, an answer is a failure of the worker. The guest pays nothing for it. */
const FAILURE = 500;

export class GuestVisit {
  readonly #parts: Parts;
  #begunMs: number | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A worker is about to get the request. */
  begin(): void {
    this.#begunMs = this.#parts.clock.monotonic();
  }

  /** The worker has answered. The charge is durable before the guest gets the end of the answer. */
  async answered(status: number): Promise<void> {
    if (status < FAILURE) await this.#charge(true);
  }

  /**
   * Returns what the guest learns. A guest who left, or whose request took too long, pays for the time. One who left in the middle of an
   * answer, of which only the last bytes may have been missing, pays for the request too. `begun` is the status of that answer.
   */
  async failed(error: unknown, begun?: number): Promise<unknown> {
    const hasAnswer = begun !== undefined && begun < FAILURE;
    if (isProblem(error, "abandoned")) await this.#charge(hasAnswer);
    else if (isProblem(error, "late-answer")) await this.#charge(false);
    return isProblem(error) ? forGuests(error) : error;
  }

  async #charge(isAnswered: boolean): Promise<void> {
    const { queue, clock, account: caller, endpoint, guest } = this.#parts;
    if (this.#begunMs === undefined) return;
    const charge = chargeForRequest(guest.fare, clock.monotonic() - this.#begunMs, isAnswered, clock.now());
    this.#begunMs = undefined;
    await queue.charge({ caller, endpoint, share: guest.name, key: guest.fare.key, ...charge });
  }
}

const WORDS: Partial<Record<Problem["code"], string>> = {
  "no-answer": "the worker of this endpoint did not answer the request",
  "late-answer": "the worker of this endpoint did not finish the request in time",
  "no-capacity": "no worker of this endpoint was free in time",
};

/** The problem's own words may name a worker and how it ended. Guests learn its kind and the code of its reason. */
function forGuests(error: Problem): Problem {
  const words = WORDS[error.code];
  if (words === undefined) return error;
  const { word, reason } = error;
  return problem(error.code, words, { ...(word && { word }), ...(reason && { reason }) });
}
