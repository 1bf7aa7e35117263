/** How much of what an account may have: set for the installation, and for single accounts. */

import type { Clock } from "../../kernel/clock.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import { problem } from "../../kernel/problem.ts";
import { type Reason, saying } from "../../kernel/reason.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import { type Bound, type Counting, type Store, WriteRefused } from "../../ports/store/store.ts";
import { type Account, accounts } from "./model.ts";

/** In words for people. */
const quotaWords = {
  workers: "workers at once",
  pods: "Pods",
  gpus: "GPUs at once",
  vcpu: "vCPU at once",
  volumes: "network volumes",
  gb: "GB of network volumes",
  endpoints: "endpoints",
  keys: "API keys",
  secrets: "secrets",
  registries: "registries",
  templates: "templates",
  s3keys: "S3 keys",
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
  pods: 1000,
  // What the machines have is the limit, unless an operator sets one.
  gpus: LARGEST,
  vcpu: LARGEST,
  volumes: 1000,
  gb: LARGEST,
  endpoints: 1000,
  keys: 1000,
  secrets: 1000,
  registries: 1000,
  templates: 1000,
  s3keys: 100,
});

/** `workers=50,endpoints=20`: those that are named. */
export function parseQuotas(text: string): Partial<Quotas> {
  const parts = text.split(",").map((part) => part.trim());
  return Object.fromEntries(
    parts.filter(Boolean).map((part) => {
      const [, name, number] = /^([a-z0-9]+)=(\d{1,9})$/.exec(part) ?? [];
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

/** So much more of what a quota counts. */
export interface Amount {
  name: QuotaName;
  /** The records of the account that count. */
  of: readonly Counting[];
  amount: number;
}

/** More than others of one account can come between while it makes something. */
const MOST_TRIES = 1000;

/** A change from the command line holds within this time. */
const REMEMBERED_MS = 1000;

export class QuotaBook {
  readonly #store: Store;
  readonly #accounts: Collection<Account>;
  readonly #standard: Quotas;
  readonly #remembered: Remembered<Quotas>;
  /**
   * What one account makes here is counted and written one after the other. That no more is made than fits is up to the commit, since other
   * nodes make some too; but many at once that are refused there would each have waited for it, and have cost others room or time.
   */
  readonly #turns = new OneAtATimeEach();

  constructor({ store, clock, quotas }: { store: Store; clock: Clock; quotas?: Quotas }) {
    this.#store = store;
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

  /** Makes one more of something, unless the account would then have more than it may. `make` commits under the bounds that it is given. */
  within<T>(
    account: string,
    name: QuotaName,
    of: readonly Counting[],
    make: (within: Bound[]) => Promise<T>,
  ): Promise<T> {
    return this.withinAll(account, [{ name, of, amount: 1 }], make);
  }

  /**
   * Makes something that counts in several ways, such as a volume and its GB, if none of them is too much. Those that count in a way
   * take turns at it, in the order of the quotas' names, so that nobody waits for one who waits for him.
   */
  withinAll<T>(account: string, amounts: readonly Amount[], make: (within: Bound[]) => Promise<T>): Promise<T> {
    const ordered = amounts.toSorted((a, b) => NAMES.indexOf(a.name) - NAMES.indexOf(b.name));
    return ordered.reduceRight<() => Promise<T>>(
      (inner, { name }) =>
        () =>
          this.#turns.run(`${account} ${name}`, inner),
      () => this.#make(account, ordered, make),
    )();
  }

  /** Where another node was faster, it is counted again, so that the refusal says what is there. */
  async #make<T>(account: string, amounts: readonly Amount[], make: (within: Bound[]) => Promise<T>): Promise<T> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const within: Bound[] = [];
      for (const one of amounts) within.push(...(await this.#boundOf(account, one)));
      try {
        return await make(within);
      } catch (error) {
        if (!(error instanceof WriteRefused) || error.reason !== "full") throw error;
      }
    }
    throw problem("unavailable", "This account makes and deletes too much at once. Try again in a moment.");
  }

  /** Throws where it is too much already. To take no more of it needs no bound. */
  async #boundOf(account: string, { name, of, amount }: Amount): Promise<Bound[]> {
    if (amount <= 0) return [];
    const counts = await Promise.all(of.map((counting) => this.#store.count(counting)));
    const has = counts.reduce((sum, count) => sum + count, 0);
    const refusal = await this.refusal(account, name, { has, amount });
    if (refusal) throw problem("over-quota", refusal.text, { reason: refusal.code });
    return [{ of, most: (await this.of(account))[name] }];
  }

  /** Whether somebody bounded what programs of the account hold at once: what machines have is the limit otherwise. */
  async boundsHeld(account: string): Promise<boolean> {
    const { gpus, vcpu } = await this.of(account);
    return gpus < LARGEST || vcpu < LARGEST;
  }

  /** Why an account that has so much cannot have so much more; undefined when it can. For those who can wait until it can. */
  async refusal(
    account: string,
    name: QuotaName,
    { has, amount }: { has: number; amount: number },
  ): Promise<Reason | undefined> {
    const quota = (await this.of(account))[name];
    // To take no more of it is never too much, also where less is allowed than before.
    if (amount <= 0 || has + amount <= quota) return undefined;
    const more = amount === 1 ? "" : `; ${amount} more would be too many`;
    const text = `This account has ${has} ${quotaWords[name]}, and may have ${quota} (quota '${name}')${more}. ${ASK}`;
    return saying("quota-reached", text, { what: name, used: has, limit: quota, needed: amount });
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
