/** What the owner of the installation may do with its accounts and prices, and what is full. */
import { priceSetsOf } from "../../catalog/price-changes.ts";
import { cpuPriceIn, gpuPriceIn, spotPriceIn } from "../../catalog/prices.ts";
import type { BodyMemory } from "../../kernel/body-memory.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import { nanosOf } from "../../kernel/money.ts";
import { problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import type { PriceBook } from "../../metering/price-book.ts";
import type { DiskRoom } from "../../ports/disk.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { PageAsked } from "../../ports/store/collection.ts";
import type { Accounts, ListedAccount } from "../account/accounts.ts";
import type { QuotaBook, Quotas } from "../account/quotas.ts";
import type { AccountService } from "../account/service.ts";
import type { AccountUsage } from "../account/usage.ts";
import type { SpendBook, Standing } from "../spending/service.ts";
import { type InstallationUsage, LONGEST_QUEUES } from "./model.ts";

export interface AdministrationParts {
  accounts: Accounts;
  account: Pick<AccountService, "issueKey">;
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

  async update(id: string, { quotas, spendLimitMost, balance }: AccountChange): Promise<SeenAccount> {
    const { accounts, spending } = this.#parts;
    const { quotas: before } = await accounts.get(id);
    if (quotas) await accounts.setQuotas(id, withoutNulls({ ...before, ...quotas }));
    if (spendLimitMost !== undefined || balance === null)
      await spending.set(id, {
        ...(spendLimitMost !== undefined && { most: nanosOf(spendLimitMost) }),
        ...(balance === null && { prepaid: null }),
      });
    this.#parts.quotas.forget(id);
    return this.get(id);
  }

  async credit(id: string, usd: number): Promise<SeenAccount> {
    await this.#parts.spending.credit(id, nanosOf(usd));
    return this.get(id);
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

const withoutNulls = (quotas: Partial<Record<keyof Quotas, number | null>>): Partial<Quotas> =>
  Object.fromEntries(Object.entries(quotas).filter(([, value]) => value !== null)) as Partial<Quotas>;
