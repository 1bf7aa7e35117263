/** `millrace keys`: API keys of an account. */

import { ValidBody } from "@millrace/platform/guards/perform.ts";
import { realClock, timestamp } from "@millrace/platform/kernel/clock.ts";
import type { Ask } from "@millrace/platform/kernel/request-path.ts";
import { type Grant, grants } from "@millrace/platform/kernel/scope.ts";
import { Command, InvalidArgumentError } from "commander";
import { parseDuration } from "./duration.ts";
import { inInstallation, type Opened, type PlaceOptions, parseUsd, withPlace } from "./installation.ts";
import { readConfig, type TargetOptions, withTarget } from "./profiles.ts";
import { type Environment, type Shell, writeLine } from "./shell.ts";

interface Common extends PlaceOptions, TargetOptions {
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

export function keysCommand({ env, stdout }: Pick<Shell, "env" | "stdout">): Command {
  const keys: Keys = {
    env,
    print: (value, json, lines) => writeLine(stdout, json ? JSON.stringify(value) : lines().join("\n")),
  };
  return new Command("keys")
    .description("create, list and revoke API keys, of a data folder or of a server")
    .addCommand(createKey(keys))
    .addCommand(listKeys(keys))
    .addCommand(revokeKey(keys));
}

interface Keys {
  env: Environment;
  print(value: unknown, json: boolean | undefined, lines: () => string[]): void;
}

function common(name: string, about: string, example: string): Command {
  return withTarget(withPlace(new Command(name).description(about)))
    .option("--account <id or name>", "account of the data folder; default: the first one")
    .option("--json", "print JSON")
    .addHelpText("after", `\nExample:\n  millrace keys ${name} ${example}`);
}

type Perform = Awaited<ReturnType<typeof keysOf>>;

/**
 * Performs operations on keys, of the server that a profile or `--url` names, else of the data folder. A data folder that is named wins over
 * the profile in use.
 */
async function withKeys<T>(
  options: Common,
  env: Environment,
  work: (perform: Perform) => Promise<T>,
  { makes = false } = {},
): Promise<T> {
  const { data, databaseUrlFile, account, profile, url } = options;
  const isNamed = data ?? databaseUrlFile ?? account ?? (env.MILLRACE_DATA || env.MILLRACE_DATABASE_URL || undefined);
  if (profile === undefined && url === undefined && (isNamed !== undefined || !(await hasProfile(env))))
    return inInstallation(options, async (opened) => work(await keysOf(opened, options)), { makes });
  const { ApiClient } = await import("./api.ts");
  const { accountOperations } = await import("@millrace/platform/resources/account/operations.ts");
  const api = await ApiClient.open(options, env);
  const perform = (name: keyof typeof accountOperations, { params, body }: Ask & { body?: () => unknown } = {}) => {
    const given = body?.();
    return api.call(accountOperations[name], { params, body: given instanceof ValidBody ? given.value : given });
  };
  return work(perform as unknown as Perform);
}

async function hasProfile(env: Environment): Promise<boolean> {
  if (env.MILLRACE_PROFILE || (env.MILLRACE_URL && env.MILLRACE_API_KEY)) return true;
  return (await readConfig(env)).current !== undefined;
}

/** Schemas and validation are loaded only by commands that need them. A starting server loads them while it opens the rest. */
async function keysOf(opened: Opened, { account }: Common) {
  const { keyOperations } = await import("./operations.ts");
  return keyOperations(opened, account);
}

function createKey({ env, print }: Keys): Command {
  return common("create", "create a key; it is shown this once", "--scopes serverless:invoke --name ci")
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
      "the most that everything made with the key may cost in a calendar month (UTC); a key with a limit cannot make keys",
      parseUsd,
    )
    .action(({ scopes, endpoints, name, exempt, expires, spendLimit, ...options }: CreateOptions) => {
      const create = async (perform: Perform) => {
        const expiresAt = expires === undefined ? undefined : timestamp(realClock.now() + expires);
        const given = { scopes, endpoints, name, exempt, expiresAt, spendLimit };
        // Only free text can be invalid here. The flags have already parsed everything else, so it needs no schema check.
        const isChecked = name === undefined && endpoints === undefined;
        const { id, key } = await perform("createApiKey", { body: () => (isChecked ? new ValidBody(given) : given) });
        print({ id, key }, options.json, () => [`id   ${id}`, `key  ${key}`]);
      };
      // Scripts create a key in an empty folder before they start the server on it.
      return withKeys(options, env, create, { makes: true });
    });
}

function listKeys({ env, print }: Keys): Command {
  return common("list", "list keys", "--json").action((options: Common) =>
    withKeys(options, env, async (perform) => {
      const { apiKeys } = await perform("listApiKeys");
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

function revokeKey({ env, print }: Keys): Command {
  return common("revoke", "revoke a key: it stops working within a second", "KEY")
    .argument("<id>", "the key's id, as in 'keys list'")
    .action((id: string, options: Common) =>
      withKeys(options, env, async (perform) => {
        await perform("deleteApiKey", { params: { id } });
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
