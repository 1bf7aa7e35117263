/** Operations on accounts, prices and limits of an installation. Only its owner may use them. */
import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { dateTime, name, t } from "../../kernel/schema.ts";
import { ApiKey, CreatedApiKey } from "../account/model.ts";
import { exportQuery, exportTexts } from "../billing/model.ts";
import {
  CreateInstallationAccount,
  Credit,
  InstallationAccount,
  InstallationPrices,
  InstallationUsage,
  SetPrices,
  UpdateInstallationAccount,
} from "./model.ts";

const common = { tag: "Installation", status: 200, narrowed: "refused", who: "installation" } as const;
const reads = { ...common, method: "GET", scope: "account:read" } as const;
const writes = { ...common, scope: "account:write" } as const;
const ACCOUNTS = "/v2/installation/accounts";
const PRICES = "/v2/installation/prices";

export const administrationOperations = {
  listInstallationAccounts: {
    ...reads,
    path: ACCOUNTS,
    summary: "List accounts",
    description: "Newest first, with quotas, limits and what each has spent this month.",
    query: t.Object(pageQuery),
    out: t.Object({ accounts: t.Array(InstallationAccount), pagination: Pagination }),
  },
  createInstallationAccount: {
    ...writes,
    method: "POST",
    path: ACCOUNTS,
    status: 201,
    summary: "Create an account",
    description: "With its owner, and a key that may do everything in it. The answer shows that key once.",
    in: CreateInstallationAccount,
    out: t.Object({
      ...InstallationAccount.properties,
      key: t.String({ description: "An API key of the new account. It is not shown again." }),
    }),
    refuses: ["name-taken"],
  },
  getInstallationAccount: {
    ...reads,
    path: `${ACCOUNTS}/{id}`,
    summary: "Get an account",
    out: InstallationAccount,
  },
  updateInstallationAccount: {
    ...writes,
    method: "PATCH",
    path: `${ACCOUNTS}/{id}`,
    summary: "Change an account",
    description:
      "Its name, what it may have, send and spend, and whether it is suspended. Changes only the fields sent. Nothing that exists is ended when it exceeds a new limit.",
    in: UpdateInstallationAccount,
    out: InstallationAccount,
    refuses: ["name-taken"],
  },
  creditInstallationAccount: {
    ...writes,
    method: "POST",
    path: `${ACCOUNTS}/{id}/credit`,
    summary: "Add credit to an account",
    description: "The account has a balance from its first credit on, and starts nothing new once it is used up.",
    in: Credit,
    out: InstallationAccount,
    refuses: ["conflicting"],
  },
  listInstallationAccountKeys: {
    ...reads,
    path: `${ACCOUNTS}/{id}/keys`,
    summary: "List the API keys of an account",
    description: "Newest first. Keys themselves are never shown again.",
    out: t.Object({ apiKeys: t.Array(ApiKey.record) }),
  },
  createInstallationAccountKey: {
    ...writes,
    method: "POST",
    path: `${ACCOUNTS}/{id}/keys`,
    status: 201,
    summary: "Create an API key of an account",
    description: "It belongs to the account's owner, and counts against the account's quota. The answer shows it once.",
    in: ApiKey.create,
    out: CreatedApiKey,
    refuses: ["over-quota"],
  },
  deleteInstallationAccountKey: {
    ...writes,
    method: "DELETE",
    path: `${ACCOUNTS}/{id}/keys/{keyId}`,
    status: 204,
    summary: "Revoke an API key of an account",
  },
  deleteInstallationAccount: {
    ...writes,
    method: "DELETE",
    path: `${ACCOUNTS}/{id}`,
    status: 204,
    summary: "Delete an account",
    description: "With everything it has, for good. The first account cannot be deleted.",
    refuses: ["rule-broken"],
  },
  listPrices: {
    ...reads,
    path: PRICES,
    summary: "List prices",
    description: "What everything costs now, and when other prices begin to apply.",
    out: InstallationPrices,
  },
  setPrices: {
    ...writes,
    method: "POST",
    path: PRICES,
    summary: "Set prices",
    description: "They apply a few seconds later, to what already runs too.",
    in: SetPrices,
    out: t.Object({ from: dateTime("When they begin to apply.") }),
    refuses: ["rule-broken"],
  },
  exportInstallationBilling: {
    ...reads,
    path: "/v2/installation/billing/export",
    summary: "Export usage of all accounts for invoices",
    description: "What `/v2/billing/export` has of one account, for every account or for one of them.",
    query: t.Object({ ...exportQuery, accountId: t.Optional(name({ description: "Only of this account." })) }),
    texts: exportTexts,
    refuses: ["rule-broken", "not-found"],
  },
  getInstallationUsage: {
    ...reads,
    path: "/v2/installation/usage",
    summary: "See what is full",
    description:
      "Disk, memory for bodies, and connections of the node that answers, and the queues of the installation.",
    out: InstallationUsage,
  },
} as const satisfies Operations;
