/** Keeps the last measured difference of this server's clock from its database's, and logs when it becomes too large and is well again. */
import { areApart, areTogether, type ClockDifference, differenceText } from "../kernel/clock-difference.ts";
import type { Log } from "../kernel/log.ts";

const WHAT_IT_DOES = "the time limits of jobs go by it: set both clocks by NTP, such as with chrony";

export class ClockWatch {
  readonly #log: Log;
  #aheadMs: number | undefined;
  #isApart = false;

  constructor({ log }: { log: Log }) {
    this.#log = log;
  }

  /** How far this server's clock is ahead of the database's. Undefined on SQLite, and while the database is away. */
  get aheadMs(): number | undefined {
    return this.#aheadMs;
  }

  /** Takes a new measurement, or undefined when the database cannot be asked any more. */
  heard(difference: ClockDifference | undefined): void {
    this.#aheadMs = difference?.aheadMs;
    if (!difference) return;
    const wasApart = this.#isApart;
    if (areApart(difference)) this.#isApart = true;
    else if (areTogether(difference)) this.#isApart = false;
    if (wasApart === this.#isApart) return;
    const fields = { aheadMs: Math.round(difference.aheadMs) };
    const says = `this server's clock is ${differenceText(difference)} the database's`;
    if (this.#isApart) this.#log.warn(fields, `${says}, and ${WHAT_IT_DOES}`);
    else this.#log.warn(fields, "this server's clock agrees with the database's again");
  }
}
