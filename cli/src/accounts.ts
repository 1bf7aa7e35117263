/** `millrace accounts`: the accounts of an installation. */

import {
  finishRemovals,
  type Installation,
  openInstallation,
  refuseNoInstallation,
} from "@millrace/platform/composition/installation.ts";
import { parseRequestLimits } from "@millrace/platform/guards/rate-policy.ts";
import type { RequestLimits } from "@millrace/platform/kernel/caller.ts";
import { realClock, timestamp } from "@millrace/platform/kernel/clock.ts";
import { nanosOf, usdOf } from "@millrace/platform/kernel/money.ts";
import type { Accounts } from "@millrace/platform/resources/account/accounts.ts";
import { parseQuotas, type Quotas, quotaText } from "@millrace/platform/resources/account/quotas.ts";
import { shown as shownAccount } from "@millrace/platform/resources/spending/rest-v2.ts";
import type { SpendBook, Standing } from "@millrace/platform/resources/spending/service.ts";
import { Command, InvalidArgumentError } from "commander";
import {
  byCommand,
  inInstallation,
  type Opened,
  type PlaceOptions,
  parseUsd,
  placeSettings,
  print,
  withPlace,
} from "./installation.ts";

interface Options extends PlaceOptions {
  json?: boolean;
}

export function accountsCommand(): Command {
  return new Command("accounts")
    .description("create, list and delete accounts; works while the server runs")
    .addCommand(createAccount())
    .addCommand(listAccounts())
    .addCommand(showAccount())
    .addCommand(setQuota())
    .addCommand(setSpending())
    .addCommand(creditAccount())
    .addCommand(suspendAccount())
    .addCommand(resumeAccount())
    .addCommand(deleteAccount());
}

function common(name: string, about: string, example = ""): Command {
  return withPlace(new Command(name).description(about))
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  millrace accounts ${name} ${example}`);
}

function createAccount(): Command {
  return common("create", "create an account with its owner and an all-scopes key", "team --email ada@example.com")
    .argument("<name>", "name, unique in the installation")
    .option("--email <address>", "the owner's address")
    .action((name: string, options: Options & { email?: string }) =>
      inInstallation(options, async ({ accounts, account, audit }) => {
        const owner = await accounts.create(name, options.email ?? `${name}@localhost`);
        const deed = byCommand(owner.account, "createAccount", { type: "accounts", id: owner.account });
        const { key } = await audit.record(deed, () => account.issueKey(owner, { name: "owner", scopes: ["all"] }));
        print({ id: owner.account, name, key }, options.json, () => [
          `id    ${owner.account}`,
          `name  ${name}`,
          `key   ${key}`,
        ]);
      }),
    );
}

function listAccounts(): Command {
  return common("list", "list accounts", "--json").action((options: Options) =>
    inInstallation(options, async ({ accounts, ...opened }) => {
      const spending = await spendingIn(opened);
      const all = (await accounts.list()).map(async (account) => ({
        ...account,
        createdAt: timestamp(account.createdAt),
        ...spendingOf(await spending.standing(account.id)),
      }));
      const listed = await Promise.all(all);
      print({ accounts: listed }, options.json, () =>
        listed.map(({ id, name, owner, createdAt, quotas, ...money }) =>
          [id, name, owner, createdAt, quotaText(quotas), ...spendingText(money)].filter(Boolean).join("  "),
        ),
      );
    }),
  );
}

function showAccount(): Command {
  return common("show", "show an account: its spending and its limits", "team")
    .argument("<id or name>")
    .action((idOrName: string, options: Options) =>
      inInstallation(options, async ({ accounts, ...opened }) => {
        const spending = await spendingIn(opened);
        const { account } = await accounts.ownerOf(idOrName);
        const shown = shownAccount(await spending.standing(account));
        print(shown, options.json, () => Object.entries(shown).map(([name, value]) => `${name}  ${value ?? "none"}`));
      }),
    );
}

/** Loads the accounts' balances and limits, only for commands that show money. */
async function spendingIn(records: Pick<Opened, "store" | "clock" | "charges">): Promise<SpendBook> {
  const { SpendBook } = await import("@millrace/platform/resources/spending/service.ts");
  const spending = new SpendBook({ ...records, charges: await records.charges() });
  await spending.prepare();
  return spending;
}

/** Opens everything that belongs to an account, so that it can be removed with the account. */
async function inWholeInstallation<T>(
  options: PlaceOptions,
  work: (installation: Installation, finishRemovals: () => Promise<string | undefined>) => Promise<T>,
): Promise<T> {
  const settings = placeSettings(options);
  await refuseNoInstallation(settings);
  await using installation = await openInstallation(settings, { thread: false });
  // Opening the services registers what must be removed with an account.
  const { openServices } = await import("@millrace/platform/composition/services.ts");
  await openServices(installation);
  return await work(installation, () => finishRemovals(settings, installation));
}

/** The money columns of an account in a list. */
function spendingOf(standing: Standing) {
  const { balance, spentThisMonth, spendLimit, spendLimitMost } = shownAccount(standing);
  return { balance, spentThisMonth, spendLimit, spendLimitMost };
}

function spendingText({
  balance,
  spentThisMonth,
  spendLimit,
  spendLimitMost,
}: ReturnType<typeof spendingOf>): string[] {
  const limits = [spendLimit, spendLimitMost].filter((limit) => limit > 0);
  return [
    `spent ${spentThisMonth.toFixed(2)} USD this month`,
    ...(limits.length > 0 ? [`of ${Math.min(...limits)} USD`] : []),
    ...(balance === null ? [] : [`balance ${balance.toFixed(2)} USD`]),
  ];
}

function creditAccount(): Command {
  return common("credit", "add to the balance of an account, which is kept from then on", "team 25")
    .argument("<id or name>")
    .argument("<usd>", "such as 25 or 0.5; 0 keeps a balance of nothing", parseUsd)
    .option("--reference <text>", "your name for the payment; the same one adds credit only once")
    .action((idOrName: string, usd: number, { reference, ...options }: Options & { reference?: string }) =>
      inInstallation(options, async ({ accounts, audit, ...opened }) => {
        const spending = await spendingIn(opened);
        const { account } = await accounts.ownerOf(idOrName);
        const deed = byCommand(account, "creditAccount", { type: "account", id: account }, ["credit"]);
        const balance = usdOf(await audit.record(deed, () => spending.credit(account, nanosOf(usd), reference)));
        print({ account: idOrName, balance }, options.json, () => [`${idOrName}  balance ${balance} USD`]);
      }),
    );
}

/** The words by which a person lifts a limit. */
const NONE = "none";

function suspendAccount(): Command {
  return common("suspend", "refuse the people and keys of an account; what runs continues", "team")
    .argument("<id or name>")
    .option("--reason <text>", "what its people are told")
    .action((idOrName: string, { reason, ...options }: Options & { reason?: string }) =>
      changeAccount(idOrName, "suspendAccount", options, ({ suspended }) => ({
        suspended: { at: suspended?.at ?? realClock.now(), ...(reason && { reason: reason.slice(0, MOST_REASON) }) },
      })),
    );
}

const MOST_REASON = 500;

function resumeAccount(): Command {
  return common("resume", "let the people and keys of a suspended account in again", "team")
    .argument("<id or name>")
    .action((idOrName: string, options: Options) =>
      changeAccount(idOrName, "resumeAccount", options, () => ({ suspended: null })),
    );
}

function changeAccount(
  idOrName: string,
  operation: string,
  options: Options,
  decide: Parameters<Accounts["change"]>[1],
): Promise<void> {
  return inInstallation(options, async ({ accounts, audit }) => {
    const { account } = await accounts.ownerOf(idOrName);
    const deed = byCommand(account, operation, { type: "accounts", id: account });
    await audit.record(deed, () => accounts.change(account, decide));
    const { name, suspended } = await accounts.get(account);
    print({ id: account, name, suspended: suspended !== undefined }, options.json, () => [
      `${name}  ${suspended ? "suspended" : "not suspended"}`,
    ]);
  });
}

interface SpendingOptions extends Options {
  spendLimit?: number;
  spendWebhook?: string;
  name?: string;
  rateLimits?: RequestLimits | null;
  balance: boolean;
}

function setSpending(): Command {
  return common("set", "set the name of an account, and what it may spend and send", "team --spend-limit 100")
    .argument("<id or name>")
    .option(
      "--spend-limit <usd>",
      "the most it may spend in a calendar month (UTC), whatever limit it sets itself; 0: no limit",
      parseUsd,
    )
    .option("--spend-webhook <url>", "URL that gets a message at 80% and 100% of a limit; none: no messages")
    .option("--no-balance", "end the balance: credit no longer limits the account")
    .option("--name <text>", "another name, unique in the installation")
    .option(
      "--rate-limits <numbers>",
      "requests per minute, hour and day of each of its people, such as 60,1000,5000; none: as all",
      parseRateLimits,
    )
    .action((idOrName: string, { spendLimit, spendWebhook, balance, name, rateLimits, ...options }: SpendingOptions) =>
      inInstallation(options, async ({ accounts, audit, ...opened }) => {
        const spending = await spendingIn(opened);
        const { account } = await accounts.ownerOf(idOrName);
        const change = {
          ...(spendLimit !== undefined && { most: nanosOf(spendLimit) }),
          ...(spendWebhook !== undefined && { webhook: spendWebhook === NONE ? null : spendWebhook }),
          ...(!balance && { prepaid: null }),
        };
        const other = {
          ...(name !== undefined && { name }),
          ...(rateLimits !== undefined && { requests: rateLimits }),
        };
        const fields = [...Object.keys(change), ...Object.keys(other)];
        const deed = byCommand(account, "setSpending", { type: "account", id: account }, fields);
        await audit.record(deed, async () => {
          await spending.set(account, change);
          await accounts.change(account, () => other);
        });
        const shown = shownAccount(await spending.standing(account));
        print(shown, options.json, () => Object.entries(shown).map(([name, value]) => `${name}  ${value ?? "none"}`));
      }),
    );
}

function setQuota(): Command {
  return common("quota", "set what an account may have, in place of what all may have", "team pods=5,gpus=2")
    .argument("<id or name>")
    .argument("[quotas]", "such as workers=50,gpus=8; nothing leaves it with what all may have", parseQuota, {})
    .action((idOrName: string, quotas: Partial<Quotas>, options: Options) =>
      inInstallation(options, async ({ accounts, audit }) => {
        const { account } = await accounts.ownerOf(idOrName);
        const deed = byCommand(account, "setQuotas", { type: "accounts", id: account }, Object.keys(quotas));
        await audit.record(deed, () => accounts.setQuotas(idOrName, quotas));
        print({ account: idOrName, quotas }, options.json, () => [`${idOrName}  ${quotaText(quotas) || "as all"}`]);
      }),
    );
}

function parseRateLimits(text: string): RequestLimits | null {
  if (text === NONE) return null;
  try {
    return parseRequestLimits(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function parseQuota(text: string): Partial<Quotas> {
  try {
    return parseQuotas(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function deleteAccount(): Command {
  return common("delete", "delete an account and everything it has, for good", "team --yes")
    .argument("<id or name>")
    .option("--yes", "do not ask")
    .action((idOrName: string, options: Options & { yes?: boolean }) =>
      inWholeInstallation(options, async (installation, finishRemovals) => {
        if (!options.yes)
          throw new Error(`this deletes everything that '${idOrName}' has, for good; add --yes to do it`);
        const { accounts, audit } = installation;
        const { account } = await accounts.ownerOf(idOrName);
        // This entry goes into the log of the installation's owner, because the account's own log is deleted with it.
        const deed = byCommand((await accounts.firstOwner()).account, "deleteAccount", {
          type: "accounts",
          id: account,
        });
        await audit.record(deed, () => accounts.delete(idOrName), { first: true });
        const left = await finishRemovals();
        const deleted = { deleted: idOrName, complete: left === undefined, ...(left && { left }) };
        print(deleted, options.json, () => [`deleted ${idOrName}`, ...(left ? [left] : [])]);
      }),
    );
}
