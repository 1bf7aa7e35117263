/** What the operator decided about an account and every request of it meets: whether it is suspended, and its own rate limits. */
import type { RequestLimits } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { type Account, accounts } from "./model.ts";

export interface Rules {
  suspended?: Account["suspended"];
  requestLimits?: RequestLimits | undefined;
}

/** A change takes effect on every node within this time. */
const REMEMBERED_MS = 1000;

export class AccountRules {
  readonly #accounts: Collection<Account>;
  readonly #remembered: Remembered<Rules>;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#accounts = new Collection(store, accounts);
    this.#remembered = new Remembered(clock, REMEMBERED_MS);
  }

  /** Does nothing: the accounts service prepares the account records. */
  async prepare(): Promise<void> {}

  async of(account: string): Promise<Rules> {
    return this.#remembered.get(account) ?? this.#remembered.reading(account, () => this.#read(account));
  }

  async #read(account: string): Promise<Rules> {
    const { suspended, requests } = (await this.#accounts.get(account))?.doc ?? {};
    return { suspended, requestLimits: requests };
  }

  async isSuspended(account: string): Promise<boolean> {
    return (await this.of(account)).suspended !== undefined;
  }

  /** Throws if the operator keeps the account out; returns its rules otherwise. */
  async assertOpen(account: string): Promise<Rules> {
    const rules = await this.of(account);
    if (!rules.suspended) return rules;
    throw problem("not-allowed", suspendedText(rules.suspended), { reason: "account-suspended" });
  }

  /** Drops what is remembered of an account, after it changed. */
  forget(account: string): void {
    this.#remembered.delete(account);
  }
}

export function suspendedText({ reason }: NonNullable<Account["suspended"]>): string {
  return `This account is suspended by the operator of the installation${reason === undefined ? "" : `: ${reason}`}.`;
}
