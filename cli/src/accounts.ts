/** `millrace accounts`: the accounts of an installation. */
import { timestamp } from "@millrace/platform/kernel/clock.ts";
import { finishRemovals } from "@millrace/platform/main.ts";
import { parseQuotas, type Quotas, quotaText } from "@millrace/platform/resources/account/quotas.ts";
import { Command, InvalidArgumentError } from "commander";
import { byCommand, inInstallation, type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";

interface Options extends PlaceOptions {
  json?: boolean;
}

export function accountsCommand(): Command {
  return new Command("accounts")
    .description("create, list and delete accounts; works while the server runs")
    .addCommand(createAccount())
    .addCommand(listAccounts())
    .addCommand(setQuota())
    .addCommand(deleteAccount());
}

function common(name: string, about: string): Command {
  return withPlace(new Command(name).description(about)).option("--json", "print JSON");
}

function createAccount(): Command {
  return common("create", "create an account with its owner and an all-scopes key")
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
  return common("list", "list accounts").action((options: Options) =>
    inInstallation(options, async ({ accounts }) => {
      const listed = (await accounts.list()).map((account) => ({
        ...account,
        createdAt: timestamp(account.createdAt),
      }));
      print({ accounts: listed }, options.json, () =>
        listed.map(({ id, name, owner, createdAt, quotas }) =>
          [id, name, owner, createdAt, quotaText(quotas)].filter(Boolean).join("  "),
        ),
      );
    }),
  );
}

function setQuota(): Command {
  return common("quota", "set what an account may have, in place of what all may have")
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

function parseQuota(text: string): Partial<Quotas> {
  try {
    return parseQuotas(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function deleteAccount(): Command {
  return common("delete", "delete an account and everything it has, for good")
    .argument("<id or name>")
    .option("--yes", "do not ask")
    .action((idOrName: string, options: Options & { yes?: boolean }) =>
      inInstallation(options, async (installation) => {
        if (!options.yes)
          throw new Error(`this deletes everything that '${idOrName}' has, for good; add --yes to do it`);
        const { accounts, audit } = installation;
        const { account } = await accounts.ownerOf(idOrName);
        // In the log of the installation's owner: that of the account goes with it.
        const deed = byCommand((await accounts.firstOwner()).account, "deleteAccount", {
          type: "accounts",
          id: account,
        });
        await audit.record(deed, () => accounts.delete(idOrName), { first: true });
        const complete = await finishRemovals(placeSettings(options), installation);
        const later = "the server has not removed its jobs yet; it does so as soon as it can";
        print({ deleted: idOrName, complete }, options.json, () => [
          `deleted ${idOrName}`,
          ...(complete ? [] : [later]),
        ]);
      }),
    );
}
