/** `millrace keys`: API keys of an account. */

import { ValidBody } from "@millrace/platform/guards/perform.ts";
import { realClock, timestamp } from "@millrace/platform/kernel/clock.ts";
import { type Grant, grants } from "@millrace/platform/kernel/scope.ts";
import { Command, InvalidArgumentError } from "commander";
import { inInstallation, type Opened, type PlaceOptions, parseUsd, print, withPlace } from "./installation.ts";

interface Common extends PlaceOptions {
  account?: string;
  json?: boolean;
}

interface CreateOptions extends Common {
  scopes: Grant[];
  endpoints?: string[];
  name?: string;
  exempt?: boolean;
  expires?: number;
  spendLimit?: number;
}

export function keysCommand(): Command {
  return new Command("keys")
    .description("create, list and revoke API keys; works while the server runs")
    .addCommand(createKey())
    .addCommand(listKeys())
    .addCommand(revokeKey());
}

function common(name: string, about: string): Command {
  return withPlace(new Command(name).description(about))
    .option("--account <id or name>", "account; default: the first one")
    .option("--json", "print JSON");
}

/** Schemas and validation are loaded only by commands that need them. A starting server loads them while it opens the rest. */
async function keysOf(opened: Opened, { account }: Common) {
  const { keyOperations } = await import("./operations.ts");
  return keyOperations(opened, account);
}

function createKey(): Command {
  return common("create", "create a key; it is shown this once")
    .requiredOption(
      "--scopes <list>",
      "all, read-only, or a comma-separated list such as secrets:read,serverless:invoke",
      parseScopes,
    )
    .option("--endpoints <ids>", "narrow the key to these endpoints", (text) => text.split(","))
    .option("--name <text>", "name for people")
    .option("--exempt", "exempt from rate limits")
    .option("--expires <time>", "30d, 12h, 15m or 45s from now", parseDuration)
    .option(
      "--spend-limit <usd>",
      "what all that it makes may cost in a calendar month (UTC); such a key makes no keys",
      parseUsd,
    )
    .action(({ scopes, endpoints, name, exempt, expires, spendLimit, ...options }: CreateOptions) => {
      const create = async (opened: Opened) => {
        const perform = await keysOf(opened, options);
        const expiresAt = expires === undefined ? undefined : timestamp(realClock.now() + expires);
        const given = { scopes, endpoints, name, exempt, expiresAt, spendLimit };
        // Only free text can be invalid here. The flags have already parsed everything else, so it needs no schema check.
        const isChecked = name === undefined && endpoints === undefined;
        const { id, key } = await perform("createApiKey", { body: () => (isChecked ? new ValidBody(given) : given) });
        print({ id, key }, options.json, () => [`id   ${id}`, `key  ${key}`]);
      };
      // Scripts create a key in an empty folder before they start the server on it.
      return inInstallation(options, create, { makes: true });
    });
}

function listKeys(): Command {
  return common("list", "list keys").action((options: Common) =>
    inInstallation(options, async (opened) => {
      const { apiKeys } = await (await keysOf(opened, options))("listApiKeys");
      print({ apiKeys }, options.json, () =>
        apiKeys.map(({ id, name = "-", scopes, expiresAt, lastUsedAt, exempt, spendLimit }) =>
          [
            id,
            name,
            scopes.join(","),
            `last used ${lastUsedAt ?? "never"}`,
            `expires ${expiresAt ?? "never"}`,
            exempt && "exempt",
            spendLimit && `may spend ${spendLimit} USD a month`,
          ]
            .filter(Boolean)
            .join("  "),
        ),
      );
    }),
  );
}

function revokeKey(): Command {
  return common("revoke", "revoke a key: it stops working within a second")
    .argument("<id>", "the key's id, as in 'keys list'")
    .action((id: string, options: Common) =>
      inInstallation(options, async (opened) => {
        await (await keysOf(opened, options))("deleteApiKey", { params: { id } });
        print({ revoked: id }, options.json, () => [`revoked ${id}`]);
      }),
    );
}

function parseScopes(text: string): Grant[] {
  const scopes = text.split(",").map((part) => part.trim());
  const unknown = scopes.find((scope) => !grants.includes(scope as Grant));
  const twice = scopes.find((scope, index) => scopes.indexOf(scope) !== index);
  if (twice !== undefined) throw new InvalidArgumentError(`'${twice}' is there twice`);
  if (unknown !== undefined) throw new InvalidArgumentError(`'${unknown}' is none of: ${grants.join(", ")}`);
  return scopes as Grant[];
}

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseDuration(text: string): number {
  const match = /^(\d+)([smhd])$/.exec(text);
  if (!match || Number(match[1]) === 0)
    throw new InvalidArgumentError("give a number and a unit, such as 30d, 12h, 15m or 45s");
  return Number(match[1]) * UNIT_MS[match[2]!]!;
}
