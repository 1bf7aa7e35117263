/** What the owner of the installation may do with its accounts and prices, and what is full. */
import { priceSetsOf } from "../../catalog/price-changes.ts";
import { cpuPriceIn, gpuPriceIn, spotPriceIn } from "../../catalog/prices.ts";
import { webhookUrl } from "../../jobs/request.ts";
import type { BodyMemory } from "../../kernel/body-memory.ts";
import type { Caller, RequestLimits } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import { nanosOf } from "../../kernel/money.ts";
import { problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import { isEmpty } from "../../kernel/same.ts";
import type { PriceBook } from "../../metering/price-book.ts";
import type { DiskRoom } from "../../ports/disk.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { PageAsked } from "../../ports/store/collection.ts";
import type { AccountFields, Accounts, ListedAccount } from "../account/accounts.ts";
import type { Account, Spending } from "../account/model.ts";
import type { QuotaBook, Quotas } from "../account/quotas.ts";
import type { AccountRules } from "../account/rules.ts";
import type { AccountService, ApiKeyItem, IssuedKey, NewKey } from "../account/service.ts";
import type { AccountUsage } from "../account/usage.ts";
import { shownWebhook } from "../spending/rest-v2.ts";
import { changedTerms, type SpendBook, type SpendingChange, type Standing } from "../spending/service.ts";
import { type InstallationUsage, LONGEST_QUEUES } from "./model.ts";

export interface AdministrationParts {
  accounts: Accounts;
  account: Pick<AccountService, "issueKey" | "apiKeys" | "createApiKey" | "removeApiKey">;
  accountRules: AccountRules;
  quotas: QuotaBook;
  accountUsage: AccountUsage;
  spending: SpendBook;
  prices: PriceBook;
  queue: Pick<Queue, "demand">;
  clock: Clock;
  /** Id of this node. */
  nodeId: string;
  memory: Pick<BodyMemory, "held" | "total" | "waiting">;
  connections: () => { open: number; most: number };
  accountOf: (endpoint: string) => Promise<string | undefined>;
  refusal?: (() => Reason | undefined) | undefined;
  diskRoom?: (() => Promise<DiskRoom>) | undefined;
}

export interface SeenAccount {
  account: ListedAccount;
  isFirst: boolean;
  limits: Quotas;
  /** Not counted for lists. */
  used?: Quotas;
  standing: Standing;
}

export interface AccountChange {
  name?: string | undefined;
  suspended?: boolean | undefined;
  suspendedReason?: string | null | undefined;
  requestLimits?: RequestLimits | null | undefined;
  spendWebhook?: string | null | undefined;
  quotas?: Partial<Record<keyof Quotas, number | null>> | undefined;
  spendLimitMost?: number | undefined;
  balance?: null | undefined;
}

export class AdministrationService {
  readonly #parts: AdministrationParts;

  constructor(parts: AdministrationParts) {
    this.#parts = parts;
  }

  async list(asked: PageAsked): Promise<{ items: SeenAccount[]; next: LastSeen | undefined }> {
    const { items, next } = await this.#parts.accounts.page(asked);
    return { items: await Promise.all(items.map((account) => this.#seen(account))), next };
  }

  async get(id: string): Promise<SeenAccount> {
    const account = await this.#parts.accounts.get(id);
    return { ...(await this.#seen(account)), used: await this.#parts.accountUsage.of(id) };
  }

  async create(name: string, email: string): Promise<{ made: SeenAccount; key: string }> {
    const { accounts, account } = this.#parts;
    const owner = await accounts.create(name, email);
    const { key } = await account.issueKey(owner, { name: "owner", scopes: ["all"] });
    return { made: await this.get(owner.account), key };
  }

  /** All fields change in one commit, so a change is whole whatever happens to the server. */
  async update(id: string, change: AccountChange): Promise<SeenAccount> {
    const { accounts, clock } = this.#parts;
    if (change.spendWebhook) webhookUrl(change.spendWebhook, "spendWebhook");
    await accounts.change(id, (doc) => changedFields(doc, change, clock.now()));
    for (const book of [this.#parts.quotas, this.#parts.accountRules, this.#parts.spending]) book.forget(id);
    return this.get(id);
  }

  async credit(id: string, usd: number, reference?: string): Promise<SeenAccount> {
    await this.#parts.spending.credit(id, nanosOf(usd), reference);
    return this.get(id);
  }

  async keys(id: string): Promise<ApiKeyItem[]> {
    const { id: account } = await this.#parts.accounts.get(id);
    return this.#parts.account.apiKeys({ account });
  }

  /** The owner's own key bounds what it can make: a key that expires makes none that lasts longer. */
  async createKey(caller: Caller, id: string, key: NewKey): Promise<IssuedKey> {
    return this.#parts.account.createApiKey(await this.#as(caller, id), key);
  }

  async revokeKey(caller: Caller, id: string, key: string): Promise<void> {
    await this.#parts.account.removeApiKey(await this.#as(caller, id), key);
  }

  /** The caller, acting for the owner of another account. */
  async #as(caller: Caller, id: string): Promise<Caller> {
    const { id: account } = await this.#parts.accounts.get(id);
    return { ...caller, ...(await this.#parts.accounts.ownerOf(account)) };
  }

  /** By its id alone: a name might be that of another account's id. */
  async delete(id: string): Promise<void> {
    await this.#parts.accounts.get(id);
    await this.#parts.accounts.delete(id);
  }

  async pricesNow() {
    const { prices, clock } = this.#parts;
    await prices.refresh();
    const now = clock.now();
    const catalog = prices.at(now);
    const gpus = [...catalog.gpus.values()].map(({ id, price: { secure, community, cluster } }) => ({
      ...{ id, secure, community, cluster, serverless: gpuPriceIn(catalog, "worker", id) },
      secureSpot: spotPriceIn(catalog, id, "SECURE"),
      communitySpot: spotPriceIn(catalog, id, "COMMUNITY"),
    }));
    const cpus = [...catalog.cpus.keys()].map((id) => ({
      ...{ id, pod: cpuPriceIn(catalog, id), serverless: cpuPriceIn(catalog, id, "worker") },
    }));
    return { gpus, cpus, storage: catalog.storage, changesAt: prices.coming(now).map(({ at }) => at) };
  }

  /** Returns when the prices begin to apply. */
  async setPrices(what: string, set: Readonly<Record<string, number | null>>): Promise<number> {
    const { prices, clock } = this.#parts;
    let changes: ReturnType<typeof priceSetsOf>;
    try {
      changes = priceSetsOf(prices.at(clock.now()), what, set);
    } catch (error) {
      throw problem("rule-broken", (error as Error).message);
    }
    return prices.change(changes);
  }

  async usage(): Promise<InstallationUsage> {
    const { nodeId: node, refusal, diskRoom, memory, connections } = this.#parts;
    const room = await diskRoom?.();
    return {
      ...{
        node,
        refusal: refusal?.()?.text ?? null,
        disk: room ? { free: room.freeBytes, total: room.totalBytes } : null,
      },
      bodies: { held: memory.held, total: memory.total, waiting: memory.waiting },
      connections: connections(),
      queue: await this.#queue(),
    };
  }

  async #queue(): Promise<InstallationUsage["queue"]> {
    const demand = await this.#parts.queue.demand(0);
    const longest = demand.toSorted((a, b) => b.inQueue - a.inQueue).slice(0, LONGEST_QUEUES);
    return {
      inQueue: demand.reduce((sum, { inQueue }) => sum + inQueue, 0),
      inProgress: demand.reduce((sum, { inProgress }) => sum + inProgress, 0),
      endpoints: demand.length,
      longest: await Promise.all(
        longest.map(async ({ endpoint, inQueue, inProgress }) => ({
          ...{ endpointId: endpoint, accountId: (await this.#parts.accountOf(endpoint)) ?? null, inQueue, inProgress },
        })),
      ),
    };
  }

  async #seen(account: ListedAccount): Promise<SeenAccount> {
    const { accounts, quotas, spending } = this.#parts;
    return {
      account,
      isFirst: await accounts.isFirst(account.id),
      limits: await quotas.of(account.id),
      standing: await spending.standing(account.id),
    };
  }
}

function changedFields(doc: Account, change: AccountChange, now: number): AccountFields {
  const { name, requestLimits, quotas } = change;
  const spending = spendingIn(change, doc.spending ?? {});
  return {
    ...(name !== undefined && { name }),
    ...(quotas && { quotas: quotasIn({ ...doc.quotas, ...quotas }) }),
    ...(requestLimits !== undefined && { requests: requestLimits }),
    ...(isEmpty(spending) ? {} : { spending: changedTerms(doc.spending ?? {}, spending) }),
    ...suspensionIn(change, doc.suspended, now),
  };
}

function spendingIn({ spendLimitMost, balance, spendWebhook }: AccountChange, before: Spending): SpendingChange {
  // Answers show only the origin of the webhook. An owner who sends that back keeps the whole address.
  const isOther = spendWebhook !== undefined && spendWebhook !== shownWebhook(before);
  return {
    ...(spendLimitMost !== undefined && { most: nanosOf(spendLimitMost) }),
    ...(balance === null && { prepaid: null }),
    ...(isOther && { webhook: spendWebhook }),
  };
}

/** An account that is suspended again keeps the time of its suspension. */
function suspensionIn(change: AccountChange, before: Account["suspended"], now: number): AccountFields {
  const { suspended = before !== undefined, suspendedReason: reason = before?.reason ?? null } = change;
  if (!suspended && change.suspendedReason)
    throw problem("rule-broken", "'suspendedReason' needs an account that is suspended: send 'suspended' too.");
  if (!suspended) return { suspended: null };
  return { suspended: { at: before?.at ?? now, ...(reason !== null && { reason }) } };
}

/** Undefined if none is left: then all are those of the installation. */
function quotasIn(quotas: Partial<Record<keyof Quotas, number | null>>): Partial<Quotas> | undefined {
  const set = Object.fromEntries(Object.entries(quotas).filter(([, value]) => value !== null)) as Partial<Quotas>;
  return isEmpty(set) ? undefined : set;
}
