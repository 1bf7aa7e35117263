/** Opens an installation's data from the command line, even while a server runs on it. */

import { type AccountServices, openAccountServices } from "@millrace/platform/composition/account-services.ts";
import { openRecords, processSettings, type Records } from "@millrace/platform/composition/installation.ts";
import { MOST_USD } from "@millrace/platform/kernel/money.ts";
import type { Deed } from "@millrace/platform/resources/audit/service.ts";
import type { Settings } from "@millrace/platform/settings/settings.ts";
import { type Command, InvalidArgumentError, Option } from "commander";

export interface PlaceOptions {
  data?: string;
  databaseUrlFile?: string;
}

/** Every user of the machine can read a command line, and a shell keeps it in its history. */
const NO_PASSWORDS =
  "--database-url is no flag, since it holds a password that every user of this machine could read: set MILLRACE_DATABASE_URL, " +
  "or write the URL into a file of yours and name that by --database-url-file (MILLRACE_DATABASE_URL_FILE)";

/** Refuses the URL itself with an explanation. */
export const refusedDatabaseUrl = () =>
  new Option("--database-url <url>").hideHelp().argParser(() => {
    throw new Error(NO_PASSWORDS);
  });

export function withPlace(command: Command): Command {
  return command
    .addOption(new Option("--data <dir>", "folder that holds everything (or MILLRACE_DATA)"))
    .option("--database-url-file <file>", "file with the URL of PostgreSQL instead (or MILLRACE_DATABASE_URL)")
    .addOption(refusedDatabaseUrl());
}

export function placeSettings({ data, databaseUrlFile }: PlaceOptions): Settings {
  return processSettings({ data, databaseUrlFile });
}

/** The records and the services of accounts that a command works on. It creates and loads anything else it needs. */
export type Opened = Omit<Records, "quotas"> & AccountServices;

/** With `makes`, an empty folder becomes an installation. */
export async function inInstallation<T>(
  options: PlaceOptions,
  work: (opened: Opened) => Promise<T>,
  { makes = false } = {},
): Promise<T> {
  await using records = await openRecords(placeSettings(options), { makes });
  // This is awaited, because the installation would otherwise be closed while the work continues.
  return await work({ ...records, ...(await openAccountServices(records)) });
}

/** What a command does to an account, for the audit log. */
export function byCommand(
  account: string,
  operation: string,
  resource: { type: string; id: string },
  fields: string[] = [],
): Deed {
  return { account, actor: { type: "cli" }, operation, resource, fields };
}

/** Prints JSON for programs and lines for people. */
export function print(value: unknown, json: boolean | undefined, lines: () => string[]): void {
  console.log(json ? JSON.stringify(value) : lines().join("\n"));
}

export function parseUsd(text: string): number {
  const usd = /^\d{1,7}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(usd <= MOST_USD))
    throw new InvalidArgumentError(`must be an amount of USD from 0 to ${MOST_USD}, such as 12.5`);
  return usd;
}
