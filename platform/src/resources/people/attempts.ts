/** Limits how often a password may be tried, per email address and per network address. All nodes share the counts. */
import { hash } from "node:crypto";
import type { Clock } from "../../kernel/clock.ts";
import { partyOf } from "../../kernel/party.ts";
import { problem } from "../../kernel/problem.ts";
import type { Limits } from "../../ports/limits/limits.ts";

const SECONDS = 15 * 60;
export const ATTEMPTS_OF_AN_EMAIL = 10;
export const ATTEMPTS_OF_AN_ADDRESS = 30;
/** Nothing can be guessed at the identity provider's door, and all of an office may come from one address. Each sign-in counts twice. */
export const PROVIDER_ATTEMPTS_OF_AN_ADDRESS = 600;

export const CODES_OF_AN_ADDRESS = 30;
export const CODES_OF_A_PERSON = 30;

const policyOf = (quota: number) => [{ name: "sign-in", quota, seconds: SECONDS }];

export class PasswordAttempts {
  readonly #limits: Limits;
  readonly #clock: Clock;

  constructor({ limits, clock }: { limits: Limits; clock: Clock }) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Counts an attempt before the password is checked, so that many parallel attempts cannot exceed the limit. */
  async count({ email, address }: { email: string; address?: string | undefined }): Promise<void> {
    if (address !== undefined) await this.#take(`sign-in from ${partyOf(address)}`, ATTEMPTS_OF_AN_ADDRESS);
    await this.#take(`sign-in as ${hash("sha256", email.toLowerCase(), "base64url")}`, ATTEMPTS_OF_AN_EMAIL);
  }

  /** Counts a sign-in by the identity provider, which has passwords of its own and counts their attempts. */
  async countAtProvider(address: string | undefined): Promise<void> {
    await this.#take(`sign-in at the provider from ${partyOf(address ?? "")}`, PROVIDER_ATTEMPTS_OF_AN_ADDRESS);
  }

  /** Counts a command line that asks for a code. */
  async countCode(address: string | undefined): Promise<void> {
    await this.#take(`codes from ${partyOf(address ?? "")}`, CODES_OF_AN_ADDRESS);
  }

  /** Counts a code that a person looks up or answers, so that nobody finds one by trying. */
  async countCodeTried(user: string): Promise<void> {
    await this.#take(`codes tried by ${user}`, CODES_OF_A_PERSON);
  }

  async #take(whose: string, quota: number): Promise<void> {
    const { allowed, windows } = await this.#limits.take(whose, policyOf(quota), this.#clock.now());
    if (allowed) return;
    throw problem("too-much", "Too many attempts to sign in; wait, or use a link made by 'millrace open'.", {
      reason: "too-many-attempts",
      retryAfterS: Math.max(1, Math.ceil(windows[0]!.resetMs / 1000)),
    });
  }
}
