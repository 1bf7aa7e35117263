/** Decides from what accounts and keys have spent whether something new may be started for them. */
import { webhookUrl } from "../../jobs/request.ts";
import { bucketStart, monthOf, nextBucket } from "../../kernel/calendar.ts";
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, timestamp } from "../../kernel/clock.ts";
import { keyDigest } from "../../kernel/ids.ts";
import { MOST_USD, moneyText, nanosOf, usdOf } from "../../kernel/money.ts";
import { problem } from "../../kernel/problem.ts";
import { because, type Reason } from "../../kernel/reason.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { isSame } from "../../kernel/same.ts";
import { Costs } from "../../metering/cost.ts";
import { type Asked, RunningCosts, StillReading } from "../../metering/running-cost.ts";
import { Collection, type Item, type NewItem } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import { type Account, accounts, apiKeys, type KeptApiKey, monthlyLimitOf, type Spending } from "../account/model.ts";
import { suspendedText } from "../account/rules.ts";
import { type ChargeBook, hourOf } from "../billing/charge-book.ts";
import { credits, type KeptCredit } from "./model.ts";

/** Why nothing new is started. `reason` has a stable text, for things that wait. `sentence` has the current figures, for callers. */
export interface Unpaid {
  reason: Reason;
  sentence: string;
}

export interface Standing {
  id: string;
  name: string;
  terms: Spending;
  /** The spending of this month, in 1e-9 USD. */
  spent: number;
  /** Undefined for an account without prepaid credit. */
  balance: number | undefined;
  refusal: Unpaid | undefined;
}

/** A limit, and how much of it is used. */
export interface Use {
  /** Identifies the limit: its owner and the month, or the credit of an account. */
  id: string;
  /** Grows with the limit, or with each credit. A higher serial allows the same warning to be given again. */
  serial: number;
  used: number;
  most: number;
  about: Record<string, unknown>;
}

/** What decides whether an account may start something. */
interface Terms {
  spending: Spending;
  suspended: Account["suspended"];
}

interface KeyLimit {
  limit: number;
  name: string;
}

/** A change from the command line takes effect within this time. */
const TERMS_MS = 1000;
/** The limit of a key never changes, so it can be remembered for longer. */
const KEY_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** The planner decides for all accounts, so it waits no longer than this for the history of one. */
const PATIENCE_MS = 500;

type ReadCost = (asked: Asked) => Promise<bigint>;

const READING: Unpaid = {
  reason: because("spending-unread"),
  sentence: "Millrace is still adding up what this account has spent; try again in a moment.",
};
const MOST_CREDIT = nanosOf(MOST_USD);

export class SpendBook {
  readonly #accounts: Collection<Account>;
  readonly #keys: Collection<KeptApiKey>;
  readonly #credits: Collection<KeptCredit>;
  readonly #exact: Costs;
  readonly #running: RunningCosts;
  readonly #charges: ChargeBook;
  readonly #clock: Clock;
  readonly #patiently: ReadCost = (asked) => this.#running.since(asked);
  readonly #terms: Remembered<Terms>;
  readonly #keyLimits: Remembered<KeyLimit>;

  constructor({ store, clock, charges }: { store: Store; clock: Clock; charges: ChargeBook }) {
    this.#charges = charges;
    this.#accounts = new Collection(store, accounts);
    this.#keys = new Collection(store, apiKeys);
    this.#credits = new Collection(store, credits);
    this.#exact = new Costs({ store, clock });
    this.#running = new RunningCosts({ store, clock });
    this.#clock = clock;
    this.#terms = new Remembered(clock, TERMS_MS);
    this.#keyLimits = new Remembered(clock, KEY_MS);
  }

  /** The account service prepares the records of accounts and keys. */
  prepare(): Promise<void> {
    return this.#credits.prepare();
  }

  /** Throws if nothing new may be started for the account, or for one of the keys that cause it. Reads no history if nothing is limited. */
  async assert(account: string, ...keys: readonly (string | null | undefined)[]): Promise<void> {
    await this.assertOwing(0n, account, ...keys);
  }

  /** The same, with what will be owed for jobs that wait or run. */
  async assertOwing(owed: bigint, account: string, ...keys: readonly (string | null | undefined)[]): Promise<void> {
    const refusal = await this.#find(account, keys, async (asked) => (await this.#patiently(asked)) + owed);
    if (refusal) throw problem("unpaid", refusal.sentence, { reason: refusal.reason.code });
  }

  /**
   * Why nothing new can be started, or undefined if it can. For callers that can wait and that decide for several accounts: a long history
   * does not hold up the others.
   */
  async refusal(account: string, ...keys: readonly (string | null | undefined)[]): Promise<Unpaid | undefined> {
    try {
      return await this.#find(account, keys, (asked) => this.#running.sinceWithin(asked, PATIENCE_MS));
    } catch (error) {
      if (error instanceof StillReading) return READING;
      throw error;
    }
  }

  async #find(
    account: string,
    keys: readonly (string | null | undefined)[],
    read: ReadCost,
  ): Promise<Unpaid | undefined> {
    const terms = await this.#termsOf(account);
    const ofAccount = await this.#refusalOf(account, terms, read);
    if (ofAccount) return ofAccount;
    for (const key of new Set(keys)) {
      const known = key ? await this.#limitOf(key) : undefined;
      if (!key || !known || known.limit === 0) continue;
      const spent = await this.#spent(account, key, read);
      if (spent >= known.limit)
        return this.#overLimit("key-spend-limit", `the API key '${known.name}'`, known.limit, spent);
    }
    return undefined;
  }

  /** The key, if what it spends is counted for it because it has a limit. */
  async limited(key: string): Promise<string | undefined> {
    return (await this.#limitOf(key)).limit > 0 ? key : undefined;
  }

  async standing(account: string): Promise<Standing> {
    const item = await this.#accounts.get(account);
    if (!item) throw problem("not-found", "account not found");
    const terms = termsIn(item);
    this.#terms.set(account, terms);
    return {
      id: account,
      name: item.doc.name,
      terms: terms.spending,
      spent: await this.#spent(account),
      balance: await this.#balanceOf(account, terms.spending),
      refusal: await this.#refusalOf(account, terms),
    };
  }

  /** Changes the account's own limit. It can never exceed the operator's limit, and a key that has a limit itself cannot change it. */
  async update(caller: Caller, change: { limit?: number; webhook?: string | null }): Promise<void> {
    if ((await this.#limitOf(caller.key))?.limit)
      throw problem("not-allowed", "This API key has a spend limit, and cannot change what the account may spend.");
    const { limit } = change;
    await this.set(caller.account, change, ({ most = 0 }) => {
      if (limit !== undefined && most > 0 && limit > most)
        throw problem(
          "rule-broken",
          `'spendLimit' must be at most ${moneyText(most)}, the limit that the operator of this installation set.`,
        );
    });
  }

  /** Sets values without checking rights, for the command line. `null` removes a value. */
  async set(account: string, change: SpendingChange, check: (terms: Spending) => void = () => {}): Promise<void> {
    if (change.webhook) webhookUrl(change.webhook, "spendWebhook");
    await this.#change(account, ({ doc: { spending = {} } }) => {
      check(spending);
      return changedTerms(spending, change);
    });
  }

  /**
   * Adds credit to the balance, and deducts what was used up to now for good. An account has a balance from its first credit on. The same
   * reference is credited only once. Returns the new balance.
   */
  async credit(account: string, nanos: number, reference?: string): Promise<number> {
    const now = this.#clock.now();
    const credit = reference === undefined ? undefined : creditOf(account, now, { reference, amount: nanos });
    let left = 0;
    await this.#change(
      account,
      async ({ doc: { spending = {} } }) => {
        const known = credit && (await this.#credits.get(credit.id))?.doc;
        if (known) {
          refuseOtherAmount(known, nanos);
          left = (await this.#exactBalance(account, spending, now)) ?? 0;
          return spending;
        }
        left = ((await this.#exactBalance(account, spending, now)) ?? 0) + nanos;
        if (left > MOST_CREDIT) throw problem("rule-broken", `The balance can be ${moneyText(MOST_CREDIT)} at most.`);
        const charged = Number(await this.#charges.ofThisHour(account));
        return { ...spending, prepaid: { left, at: now, full: left, creditedAt: now, charged } };
      },
      credit && [this.#credits.inserting(credit)],
    );
    return left;
  }

  /**
   * Deducts the costs of past months from balances, so that a balance never needs more than two months of history. It waits a day after a
   * month ends, because the end of an instance may become known late.
   */
  async settle(now: number): Promise<void> {
    const month = bucketStart("month", now - DAY_MS);
    for await (const { id, doc } of this.#accounts.all({ key: { name: "spending", value: "yes" } })) {
      const { prepaid } = doc.spending ?? {};
      if (!prepaid || prepaid.at >= month) continue;
      await this.#change(id, async ({ doc: { spending = {} } }) => {
        const left = await this.#exactBalance(id, spending, month);
        if (left === undefined || spending.prepaid!.at >= month) return spending;
        return { ...spending, prepaid: { ...spending.prepaid!, left, at: month, charged: 0 } };
      });
    }
  }

  /** All limits of accounts and keys whose account has a webhook for warnings. */
  async *uses(): AsyncGenerator<{ account: string; webhook: string; uses: Use[] }> {
    for await (const { id, doc } of this.#accounts.all({ key: { name: "spending", value: "yes" } })) {
      const { spending = {} } = doc;
      if (spending.webhook !== undefined)
        yield { account: id, webhook: spending.webhook, uses: await this.#usesOf(id, spending) };
    }
    for await (const { id, account, doc } of this.#keys.all({ key: { name: "limited", value: "yes" } })) {
      const { webhook } = (await this.#termsOf(account)).spending;
      const { spendLimit: most = 0, name } = doc;
      if (webhook === undefined || most === 0) continue;
      const use = this.#monthly(
        id,
        { used: await this.#spent(account, id), most },
        { key: { id, name: name ?? null } },
      );
      yield { account, webhook, uses: [use] };
    }
  }

  async #usesOf(account: string, terms: Spending): Promise<Use[]> {
    const most = monthlyLimitOf(terms);
    const balance = await this.#balanceOf(account, terms);
    const monthly = most > 0 ? [this.#monthly(account, { used: await this.#spent(account), most }, {})] : [];
    if (balance === undefined || terms.prepaid!.full <= 0) return monthly;
    const { full, creditedAt } = terms.prepaid!;
    const used = full - balance;
    return [
      ...monthly,
      { id: `${account}-credit`, serial: creditedAt, used, most: full, about: { balance: usdOf(balance) } },
    ];
  }

  #monthly(id: string, use: Pick<Use, "used" | "most">, about: Use["about"]): Use {
    const month = monthOf(this.#clock.now());
    return { id: `${id}-${month}`, serial: use.most, ...use, about: { ...about, month } };
  }

  async #change(
    account: string,
    decide: (item: Item<Account>) => Spending | Promise<Spending>,
    also: Write[] = [],
  ): Promise<void> {
    const changed = await this.#accounts.change(account, async (item) => {
      const spending = await decide(item);
      return isSame(spending, item.doc.spending ?? {}) ? undefined : { set: { spending }, also };
    });
    this.#terms.delete(account);
    if (!changed) throw problem("not-found", "account not found");
  }

  async #refusalOf(account: string, { suspended, spending: terms }: Terms, read?: ReadCost) {
    if (suspended)
      return {
        reason: because("account-suspended"),
        sentence: `${suspendedText(suspended)} What runs continues, and nothing new starts.`,
      };
    return this.#unpaid(account, terms, read);
  }

  async #unpaid(account: string, terms: Spending, read?: ReadCost): Promise<Unpaid | undefined> {
    const limit = monthlyLimitOf(terms);
    const spent = limit > 0 ? await this.#spent(account, undefined, read) : 0;
    const code = limit === terms.most ? "operator-spend-limit" : "spend-limit";
    if (limit > 0 && spent >= limit) return this.#overLimit(code, "the account", limit, spent);
    const balance = await this.#balanceOf(account, terms, read);
    if (balance === undefined || balance > 0) return undefined;
    return {
      reason: because("no-credit"),
      sentence: `The balance of this account is ${moneyText(balance)}: ${ENDS_NOTHING} until credit is added to it.`,
    };
  }

  #overLimit(
    code: "spend-limit" | "operator-spend-limit" | "key-spend-limit",
    whose: string,
    limit: number,
    spent: number,
  ): Unpaid {
    const now = this.#clock.now();
    const until = timestamp(nextBucket("month", bucketStart("month", now)));
    return {
      reason: because(code, { whose, limit: moneyText(limit), month: monthOf(now) }),
      sentence:
        `Spend limit: ${whose} has spent ${moneyText(spent)} of the ${moneyText(limit)} that it may spend in ${monthOf(now)}: ` +
        `${ENDS_NOTHING} before ${until}, or until the limit is raised.`,
    };
  }

  async #spent(account: string, key?: string, read: ReadCost = this.#patiently): Promise<number> {
    const since = bucketStart("month", this.#clock.now());
    const charged = await (key === undefined
      ? this.#charges.since(account, since)
      : this.#charges.ofKeySince(key, since));
    return Number((await read({ account, key, since })) + charged);
  }

  async #balanceOf(
    account: string,
    { prepaid }: Spending,
    read: ReadCost = this.#patiently,
  ): Promise<number | undefined> {
    if (!prepaid) return undefined;
    const { left, at, charged = 0 } = prepaid;
    return left + charged - Number((await read({ account, since: at })) + (await this.#charges.since(account, at)));
  }

  async #exactBalance(account: string, { prepaid }: Spending, to: number): Promise<number | undefined> {
    if (!prepaid || to <= prepaid.at) return prepaid?.left;
    const { left, at, charged = 0 } = prepaid;
    const owed = await this.#charges.between(account, hourOf(at), to);
    return left + charged - Number((await this.#exact.ofAccount(account, { from: at, to })) + owed);
  }

  /** Drops what is remembered of an account, after it changed. */
  forget(account: string): void {
    this.#terms.delete(account);
  }

  async #termsOf(account: string): Promise<Terms> {
    const known = this.#terms.get(account);
    if (known) return known;
    const terms = termsIn(await this.#accounts.get(account));
    this.#terms.set(account, terms);
    return terms;
  }

  async #limitOf(key: string): Promise<KeyLimit> {
    const known = this.#keyLimits.get(key);
    if (known) return known;
    const doc = (await this.#keys.get(key))?.doc;
    const limit = { limit: doc?.spendLimit ?? 0, name: doc?.name ?? key };
    this.#keyLimits.set(key, limit);
    return limit;
  }
}

/** The id is made from the reference, so that no two commits can add the same credit. */
const creditOf = (account: string, createdAt: number, doc: KeptCredit): NewItem<KeptCredit> => ({
  ...{ id: `credit.${account}.${keyDigest(doc.reference)}`, account, createdAt, doc },
});

function refuseOtherAmount({ reference, amount }: KeptCredit, nanos: number): void {
  if (amount !== nanos) throw problem("conflicting", `'${reference}' was already credited, with ${moneyText(amount)}.`);
}

const termsIn = (item: Pick<Item<Account>, "doc"> | undefined): Terms => ({
  spending: item?.doc.spending ?? {},
  suspended: item?.doc.suspended,
});

/** `null` and 0 remove a value. */
export interface SpendingChange {
  limit?: number;
  most?: number;
  webhook?: string | null;
  prepaid?: null;
}

export function changedTerms(spending: Spending, change: SpendingChange): Spending {
  const all = Object.entries({ ...spending, ...change });
  return Object.fromEntries(all.filter(([, value]) => value !== null && value !== 0)) as Spending;
}

const ENDS_NOTHING = "what runs continues, and nothing new starts";
