/** How much of what an account may have: set for the installation, and for single accounts. */

import type { Clock } from "../../kernel/clock.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import { problem } from "../../kernel/problem.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { type Account, accounts } from "./model.ts";

/** In words for people. */
export const quotaWords = {
  workers: "workers at once",
  endpoints: "endpoints",
  pods: "Pods",
  keys: "API keys",
  secrets: "secrets",
  registries: "registries",
} as const;

export type QuotaName = keyof typeof quotaWords;
export type Quotas = Record<QuotaName, number>;

const NAMES = Object.keys(quotaWords) as QuotaName[];
const LARGEST = 1_000_000;

/** Where nothing is said. A machine has room for no more workers than its processors can start. */
const WORKERS_PER_PROCESSOR = 16;
const FEWEST_WORKERS = 32;

export const standardQuotas = (processors: number): Quotas => ({
  workers: Math.max(FEWEST_WORKERS, processors * WORKERS_PER_PROCESSOR),
  endpoints: 1000,
  pods: 1000,
  keys: 1000,
  secrets: 1000,
  registries: 1000,
});

/** `workers=50,endpoints=20`: those that are named. */
export function parseQuotas(text: string): Partial<Quotas> {
  const parts = text.split(",").map((part) => part.trim());
  return Object.fromEntries(
    parts.filter(Boolean).map((part) => {
      const [, name, number] = /^([a-z]+)=(\d{1,9})$/.exec(part) ?? [];
      if (!NAMES.includes(name as QuotaName) || Number(number) > LARGEST)
        throw new Error(`must be written such as workers=50,endpoints=20, of ${NAMES.join(", ")}`);
      return [name, Number(number)];
    }),
  );
}

export const quotaText = (quotas: Partial<Quotas>) =>
  Object.entries(quotas)
    .map(([name, number]) => `${name}=${number}`)
    .join(",");

/** A change from the command line holds within this time. */
const REMEMBERED_MS = 1000;

export class QuotaBook {
  readonly #accounts: Collection<Account>;
  readonly #standard: Quotas;
  readonly #remembered: Remembered<Quotas>;
  /** What one account makes is counted and written one after the other: many at once would all be the last that fits. */
  readonly #turns = new OneAtATimeEach();

  constructor({ store, clock, quotas }: { store: Store; clock: Clock; quotas?: Quotas }) {
    this.#accounts = new Collection(store, accounts);
    this.#standard = quotas ?? standardQuotas(1024);
    this.#remembered = new Remembered(clock, REMEMBERED_MS);
  }

  /** Accounts prepare their own records. */
  async prepare(): Promise<void> {}

  async of(account: string): Promise<Quotas> {
    const known = this.#remembered.get(account);
    if (known) return known;
    const quotas = { ...this.#standard, ...(await this.#accounts.get(account))?.doc.quotas };
    this.#remembered.set(account, quotas);
    return quotas;
  }

  /** Makes one more of something, unless the account has all that it may. */
  within<T>(account: string, name: QuotaName, count: () => Promise<number>, make: () => Promise<T>): Promise<T> {
    return this.#turns.run(`${account} ${name}`, async () => {
      const quota = (await this.of(account))[name];
      const has = await count();
      if (has >= quota)
        throw problem("over-quota", `This account has ${has} ${quotaWords[name]}, ${allowed(quota, name)}`);
      return make();
    });
  }

  /** Refuses a number that the account can never come to. */
  async refuseBeyond(
    account: string,
    name: QuotaName,
    { field, asked }: { field: string; asked: number },
  ): Promise<void> {
    const quota = (await this.of(account))[name];
    if (asked > quota)
      throw problem(
        "rule-broken",
        `'${field}' is ${asked}, and this account may have ${quota} ${quotaWords[name]}. ${ASK}`,
      );
  }
}

const ASK = "Who runs this installation can allow more: millrace accounts quota.";

const allowed = (quota: number, name: QuotaName) => `and may have ${quota} (quota '${name}'). ${ASK}`;
