/** Answers the REST v2 operations on accounts, prices and limits of an installation. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { shown as shownMoney } from "../spending/rest-v2.ts";
import type { InstallationAccount, InstallationPrices } from "./model.ts";
import type { administrationOperations } from "./operations.ts";
import type { AdministrationService, SeenAccount } from "./service.ts";

export const administrationHandlers = (service: AdministrationService): Handlers<typeof administrationOperations> => ({
  listInstallationAccounts: ({ query }) => paged("accounts", query, (asked) => service.list(asked), shownAccount),
  async createInstallationAccount({ body: { name, email } }) {
    const { made, key } = await service.create(name, email ?? `${name}@localhost`);
    return { ...shownAccount(made), key };
  },
  getInstallationAccount: async ({ params }) => shownAccount(await service.get(params.id!)),
  updateInstallationAccount: async ({ params, body }) => shownAccount(await service.update(params.id!, body)),
  creditInstallationAccount: async ({ params, body }) => shownAccount(await service.credit(params.id!, body.amount)),
  deleteInstallationAccount: ({ params }) => service.delete(params.id!),
  async listPrices() {
    const { changesAt, storage, ...prices } = await service.pricesNow();
    return { ...prices, storage: { ...storage }, changesAt: changesAt.map(timestamp) } as InstallationPrices;
  },
  setPrices: async ({ body: { id, prices } }) => ({ from: timestamp(await service.setPrices(id, prices)) }),
  getInstallationUsage: () => service.usage(),
});

function shownAccount({ account, isFirst, limits, used, standing }: SeenAccount): InstallationAccount {
  const { spendWebhook: _, ...money } = shownMoney(standing);
  const { id, name, owner, createdAt, quotas } = account;
  return { ...money, id, name, owner, isFirst, createdAt: timestamp(createdAt), quotas, limits, ...(used && { used }) };
}
