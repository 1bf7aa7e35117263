/** Answers the REST v2 operations on accounts, prices and limits of an installation. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { keyFrom, shownKey } from "../account/rest-v2.ts";
import type { BillingExport } from "../billing/export.ts";
import { shown as shownMoney } from "../spending/rest-v2.ts";
import type { InstallationAccount, InstallationPrices } from "./model.ts";
import type { administrationOperations } from "./operations.ts";
import type { AdministrationService, SeenAccount } from "./service.ts";

export const administrationHandlers = (
  service: AdministrationService,
  exports: BillingExport,
  /** Called when an account or a key of one changed, so that the change counts here at once. */
  forget: () => void,
): Handlers<typeof administrationOperations> => ({
  listInstallationAccounts: ({ query }) => paged("accounts", query, (asked) => service.list(asked), shownAccount),
  async createInstallationAccount({ body: { name, email } }) {
    const { made, key } = await service.create(name, email ?? `${name}@localhost`);
    return { ...shownAccount(made), key };
  },
  getInstallationAccount: async ({ params }) => shownAccount(await service.get(params.id!)),
  async updateInstallationAccount({ params, body }) {
    const updated = await service.update(params.id!, body);
    forget();
    return shownAccount(updated);
  },
  creditInstallationAccount: async ({ params, body: { amount, reference } }) =>
    shownAccount(await service.credit(params.id!, amount, reference)),
  listInstallationAccountKeys: async ({ params }) => ({ apiKeys: (await service.keys(params.id!)).map(shownKey) }),
  async createInstallationAccountKey({ caller, params, body }) {
    const issued = await service.createKey(caller, params.id!, keyFrom(body));
    return { ...shownKey(issued), key: issued.key };
  },
  async deleteInstallationAccountKey({ caller, params }) {
    await service.revokeKey(caller, params.id!, params.keyId!);
    forget();
  },
  deleteInstallationAccount: ({ params }) => service.delete(params.id!),
  async listPrices() {
    const { changesAt, storage, ...prices } = await service.pricesNow();
    return { ...prices, storage: { ...storage }, changesAt: changesAt.map(timestamp) } as InstallationPrices;
  },
  setPrices: async ({ body: { id, prices } }) => ({ from: timestamp(await service.setPrices(id, prices)) }),
  exportInstallationBilling: ({ query: { accountId, ...asked } }) =>
    accountId === undefined ? exports.ofAll(asked) : exports.of(accountId, asked),
  getInstallationUsage: () => service.usage(),
});

function shownAccount({ account, isFirst, limits, used, standing }: SeenAccount): InstallationAccount {
  const { id, name, owner, createdAt, quotas, requests, suspended } = account;
  return {
    ...{ ...shownMoney(standing), id, name, owner, isFirst, createdAt: timestamp(createdAt) },
    suspended: suspended !== undefined,
    suspendedAt: suspended ? timestamp(suspended.at) : null,
    suspendedReason: suspended?.reason ?? null,
    requestLimits: requests ?? null,
    ...{ quotas, limits, ...(used && { used }) },
  };
}
