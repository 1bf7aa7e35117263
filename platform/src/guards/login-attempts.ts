/** Limits failed logins per address: its answers get slower, then it is blocked for a while. Other addresses are unaffected. */
import type { Clock } from "../kernel/clock.ts";
import { partyOf } from "../kernel/party.ts";

/** This many failures only get the shortest delay, because clients with many keys try one after the other. */
export const FREE_FAILURES = 10;
/** A refusal takes at least this long, whatever had to be looked up. */
export const LEAST_DELAY_MS = 300;
export const LONGEST_DELAY_MS = 9_600;
/** An address with this many failed logins is blocked. */
export const MOST_FAILURES = 30;
export const KEPT_OUT_MS = 10 * 60_000;
/** An address without failures for this long starts at zero again. */
export const FORGOTTEN_MS = 15 * 60_000;
/** More addresses than this do not matter at once. The one whose last failure is oldest is forgotten first. */
const MOST_ADDRESSES = 10_000;

interface Failures {
  count: number;
  lastAt: number;
  keptOutUntil: number;
}

export class LoginAttempts {
  readonly #clock: Clock;
  /** The address whose last failure is oldest comes first. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the address is still blocked, or 0 if it is not. */
  keptOutMs(address: string): number {
    return Math.max(0, (this.#of(address)?.keptOutUntil ?? 0) - this.#clock.monotonic());
  }

  /** How long to delay the answer to a failure of the address. */
  delayMs(address: string): number {
    const beyond = (this.#of(address)?.count ?? 0) - FREE_FAILURES;
    return beyond <= 0 ? LEAST_DELAY_MS : Math.min(LONGEST_DELAY_MS, LEAST_DELAY_MS * 2 ** beyond);
  }

  /** Returns true if this blocks the address. */
  failed(address: string): boolean {
    const party = partyOf(address);
    const now = this.#clock.monotonic();
    const { count, keptOutUntil } = this.#of(address) ?? { count: 0, keptOutUntil: 0 };
    const isKeptOut = count + 1 >= MOST_FAILURES;
    this.#failures.delete(party);
    this.#failures.set(party, {
      // After the block, the address has no free failures left.
      count: isKeptOut ? FREE_FAILURES : count + 1,
      lastAt: now,
      keptOutUntil: isKeptOut ? now + KEPT_OUT_MS : keptOutUntil,
    });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_ADDRESSES) this.#failures.delete(oldest!);
    return isKeptOut;
  }

  /** A login succeeded after this many failures on the same connection. Those were other keys of the same person, so they do not count. */
  succeeded(address: string, failuresBefore: number): void {
    const known = this.#of(address);
    if (known) known.count = Math.max(0, known.count - failuresBefore);
  }

  #of(address: string): Failures | undefined {
    const known = this.#failures.get(partyOf(address));
    if (!known || this.#clock.monotonic() - known.lastAt < FORGOTTEN_MS) return known;
    this.#failures.delete(partyOf(address));
    return undefined;
  }
}
