/** Quotas: how much an account may have, set for the installation and for single accounts. */

import type { Clock } from "../../kernel/clock.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import { problem } from "../../kernel/problem.ts";
import { type Reason, saying } from "../../kernel/reason.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { Collection } from "../../ports/store/collection.ts";
import { type Bound, type Counting, type Store, WriteRefused } from "../../ports/store/store.ts";
import { type Account, accounts, LARGEST_QUOTA } from "./model.ts";

/** The names of the quotas in messages. */
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
const LARGEST = LARGEST_QUOTA;

/** Together these make the default quota of workers. A machine cannot start more workers than its processors can handle. */
const WORKERS_PER_PROCESSOR = 16;
const FEWEST_WORKERS = 32;

export const standardQuotas = (processors: number): Quotas => ({
  workers: Math.max(FEWEST_WORKERS, processors * WORKERS_PER_PROCESSOR),
  pods: 1000,
  // By default only the machines limit these. An operator can set a quota.
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

/** Reads text like `workers=50,endpoints=20` and returns the quotas it names. */
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

/** How much more of a quota something would use. */
export interface Amount {
  name: QuotaName;
  /** The account's records that count against the quota. */
  of: readonly Counting[];
  amount: number;
}

/** Nothing is overtaken this often by other creations of its account. */
const MOST_TRIES = 1000;

/** A change from the command line takes effect within this time. */
const REMEMBERED_MS = 1000;

export class QuotaBook {
  readonly #store: Store;
  readonly #accounts: Collection<Account>;
  readonly #standard: Quotas;
  readonly #remembered: Remembered<Quotas>;
  /**
   * One account's creations on this node run one after the other. The commit guarantees the quota, also across nodes. But without turns,
   * many creations at once would all run up to the commit, only to be refused there at a cost to others.
   */
  readonly #turns = new OneAtATimeEach();

  constructor({ store, clock, quotas }: { store: Store; clock: Clock; quotas?: Quotas }) {
    this.#store = store;
    this.#accounts = new Collection(store, accounts);
    this.#standard = quotas ?? standardQuotas(1024);
    this.#remembered = new Remembered(clock, REMEMBERED_MS);
  }

  /** Does nothing: the accounts service prepares the account records. */
  async prepare(): Promise<void> {}

  async of(account: string): Promise<Quotas> {
    const read = async () => ({ ...this.#standard, ...(await this.#accounts.get(account))?.doc.quotas });
    return this.#remembered.get(account) ?? this.#remembered.reading(account, read);
  }

  /** Drops what is remembered of an account, after its quotas changed. */
  forget(account: string): void {
    this.#remembered.delete(account);
  }

  /** Makes one more thing, unless the account would exceed its quota. `make` has to commit with the bounds it is given. */
  within<T>(
    account: string,
    name: QuotaName,
    of: readonly Counting[],
    make: (within: Bound[]) => Promise<T>,
  ): Promise<T> {
    return this.withinAll(account, [{ name, of, amount: 1 }], make);
  }

  /**
   * Makes something that counts against several quotas, such as a volume and its GB, if it exceeds none of them. Creations take turns at
   * each quota, always in the order of the quotas' names, so that two of them cannot wait for each other.
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

  /** If another node used up the quota meanwhile, this counts again, so that the refusal gives the current numbers. */
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

  /** Throws if the amount exceeds the quota now. A change that takes nothing more needs no bound. */
  async #boundOf(account: string, { name, of, amount }: Amount): Promise<Bound[]> {
    if (amount <= 0) return [];
    const counts = await Promise.all(of.map((counting) => this.#store.count(counting)));
    const has = counts.reduce((sum, count) => sum + count, 0);
    const refusal = await this.refusal(account, name, { has, amount });
    if (refusal) throw problem("over-quota", refusal.text, { reason: refusal.code });
    return [{ of, most: (await this.of(account))[name] }];
  }

  /** Whether a quota bounds the GPUs or vCPU that the account's programs hold at once. Without one, only the machines are the limit. */
  async boundsHeld(account: string): Promise<boolean> {
    const { gpus, vcpu } = await this.of(account);
    return gpus < LARGEST || vcpu < LARGEST;
  }

  /**
   * The reason why an account that has this much cannot have the amount too, or undefined if it can. For callers that can wait instead of
   * failing.
   */
  async refusal(
    account: string,
    name: QuotaName,
    { has, amount }: { has: number; amount: number },
  ): Promise<Reason | undefined> {
    const quota = (await this.of(account))[name];
    // Taking nothing more is always allowed, even if the quota is now below what the account has.
    if (amount <= 0 || has + amount <= quota) return undefined;
    const more = amount === 1 ? "" : `; ${amount} more would be too many`;
    const text = `This account has ${has} ${quotaWords[name]}, and may have ${quota} (quota '${name}')${more}. ${ASK}`;
    return saying("quota-reached", text, { what: name, used: has, limit: quota, needed: amount });
  }

  /** Refuses a number that the account's quota can never allow. */
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
