/** How often an address may fail to log in: at first it waits ever longer for the answer, then it is kept out for a while. Nobody else is. */
import { isIPv6 } from "node:net";
import type { Clock } from "../kernel/clock.ts";

/** So many failures cost no more than the least delay: whoever has many keys offers one after the other. */
export const FREE_FAILURES = 10;
/** A refusal takes no less, whatever was looked up for it. */
export const LEAST_DELAY_MS = 300;
export const LONGEST_DELAY_MS = 9_600;
/** With so many it is kept out. */
export const MOST_FAILURES = 30;
export const KEPT_OUT_MS = 10 * 60_000;
/** An address that has not failed for so long begins anew. */
export const FORGOTTEN_MS = 15 * 60_000;
/** More than can matter at once; of the rest those are forgotten that failed longest ago. */
const MOST_ADDRESSES = 10_000;

interface Failures {
  count: number;
  lastAt: number;
  keptOutUntil: number;
}

export class LoginAttempts {
  readonly #clock: Clock;
  /** Who failed longest ago first. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the address is still kept out; 0 when it is not. */
  keptOutMs(address: string): number {
    return Math.max(0, (this.#of(address)?.keptOutUntil ?? 0) - this.#clock.monotonic());
  }

  /** How long the answer to a failure of the address takes. */
  delayMs(address: string): number {
    const beyond = (this.#of(address)?.count ?? 0) - FREE_FAILURES;
    return beyond <= 0 ? LEAST_DELAY_MS : Math.min(LONGEST_DELAY_MS, LEAST_DELAY_MS * 2 ** beyond);
  }

  /** True when the address is kept out from now on. */
  failed(address: string): boolean {
    const party = partyOf(address);
    const now = this.#clock.monotonic();
    const { count, keptOutUntil } = this.#of(address) ?? { count: 0, keptOutUntil: 0 };
    const isKeptOut = count + 1 >= MOST_FAILURES;
    this.#failures.delete(party);
    this.#failures.set(party, {
      // Once let in again it has as little patience left as before.
      count: isKeptOut ? FREE_FAILURES : count + 1,
      lastAt: now,
      keptOutUntil: isKeptOut ? now + KEPT_OUT_MS : keptOutUntil,
    });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MOST_ADDRESSES) this.#failures.delete(oldest!);
    return isKeptOut;
  }

  /** Somebody got in after this many failures on the same connection: those were other keys of the same person. */
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

const MAPPED = /^::ffff:(?=\d+\.)/i;

/** Who counts as one: an address of IPv4, or a network of IPv6 as it is given to one customer. */
export function partyOf(address: string): string {
  const plain = address.replace(MAPPED, "").replace(/%.*$/, "");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail ? tail.split(":") : [];
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  return `${[...front, ...Array<string>(Math.max(0, zeros)).fill("0"), ...back].slice(0, 4).join(":")}::/64`;
}
