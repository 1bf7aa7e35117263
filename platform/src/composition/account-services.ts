/** The services of accounts and their keys: a command that needs no others loads no others. */
import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Random } from "../kernel/random.ts";
import type { CompanionStore } from "../ports/store/companion-store.ts";
import { Accounts } from "../resources/account/accounts.ts";
import { QuotaBook, type Quotas } from "../resources/account/quotas.ts";
import { AccountService } from "../resources/account/service.ts";
import { AuditLog } from "../resources/audit/service.ts";
import { Removals } from "../resources/removals.ts";

/** What every service stands on. */
export interface ServiceParts {
  /** What a service changes is written down with the change, though no service knows of it. */
  store: CompanionStore;
  clock: Clock;
  random: Random;
  quotas?: Quotas;
  /** Hears of what fails after it was done; nobody by default. */
  failed?: Failed | undefined;
}

export interface AccountServices {
  accounts: Accounts;
  account: AccountService;
  audit: AuditLog;
  quotas: QuotaBook;
  removals: Removals;
}

export function makeAccountServices(parts: ServiceParts): AccountServices {
  const removals = new Removals(parts);
  const quotas = new QuotaBook(parts);
  const audit = new AuditLog(parts);
  const accounts = new Accounts({ ...parts, removals });
  return { accounts, account: new AccountService({ ...parts, quotas }), audit, quotas, removals };
}

export async function openAccountServices(parts: ServiceParts): Promise<AccountServices> {
  const services = makeAccountServices(parts);
  await prepareAll(services);
  return services;
}

/** Brings what is kept by each service to today's format. */
export async function prepareAll(services: object): Promise<void> {
  await Promise.all(Object.values(services).map((service) => (service as { prepare(): Promise<void> }).prepare()));
}
