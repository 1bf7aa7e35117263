/** The services of accounts and their keys, separate so that a command that needs no others loads no others. */
import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Random } from "../kernel/random.ts";
import type { CompanionStore } from "../ports/store/companion-store.ts";
import { Accounts } from "../resources/account/accounts.ts";
import { QuotaBook, type Quotas } from "../resources/account/quotas.ts";
import { AccountRules } from "../resources/account/rules.ts";
import { AccountService } from "../resources/account/service.ts";
import { AuditLog } from "../resources/audit/service.ts";
import { CodeLogins } from "../resources/people/code-logins.ts";
import { Invitations } from "../resources/people/invitations.ts";
import { SignInLinks } from "../resources/people/links.ts";
import { People } from "../resources/people/people.ts";
import { Sessions, type SessionTimes } from "../resources/people/sessions.ts";
import { Removals } from "../resources/removals.ts";

/** The parts that every service needs. */
export interface ServiceParts {
  /** This store adds the audit entry to each change, without the services knowing of it. */
  store: CompanionStore;
  clock: Clock;
  random: Random;
  quotas?: Quotas;
  /** How long sessions of people last. */
  sessionTimes?: SessionTimes | undefined;
  /** Hears about failures after an operation is done. By default nobody does. */
  failed?: Failed | undefined;
}

export interface AccountServices {
  accounts: Accounts;
  account: AccountService;
  audit: AuditLog;
  quotas: QuotaBook;
  accountRules: AccountRules;
  removals: Removals;
  sessions: Sessions;
  invitations: Invitations;
  people: People;
  signInLinks: SignInLinks;
  codeLogins: CodeLogins;
}

export function makeAccountServices(parts: ServiceParts): AccountServices {
  const removals = new Removals(parts);
  const quotas = new QuotaBook(parts);
  const accountRules = new AccountRules(parts);
  const audit = new AuditLog(parts);
  const accounts = new Accounts({ ...parts, removals });
  const sessions = new Sessions(parts);
  const invitations = new Invitations(parts);
  const people = new People({ ...parts, sessions, invitations });
  const signInLinks = new SignInLinks(parts);
  const codeLogins = new CodeLogins({ ...parts, accounts, sessions });
  const account = new AccountService({ ...parts, quotas });
  const signing = { sessions, invitations, people, signInLinks, codeLogins };
  return { accounts, account, audit, quotas, accountRules, removals, ...signing };
}

export async function openAccountServices(parts: ServiceParts): Promise<AccountServices> {
  const services = makeAccountServices(parts);
  await prepareAll(services);
  return services;
}

/** Brings the documents of each service to the current format. */
export async function prepareAll(services: object): Promise<void> {
  await Promise.all(Object.values(services).map((service) => (service as { prepare(): Promise<void> }).prepare()));
}
