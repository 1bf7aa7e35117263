/** Opening an installation's data from the command line, also while a server runs on it. */

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

/** A command line is read by every user of the machine, and kept in the history of a shell. */
const NO_PASSWORDS =
  "--database-url is no flag, since it holds a password that every user of this machine could read: set MILLRACE_DATABASE_URL, " +
  "or write the URL into a file of yours and name that by --database-url-file (MILLRACE_DATABASE_URL_FILE)";

/** Says so to whoever still gives the URL itself. */
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

/** What a command works on: records, and the services of accounts. It makes and loads whatever else it needs. */
export type Opened = Omit<Records, "quotas"> & AccountServices;

/** `makes`: an empty folder becomes an installation. */
export async function inInstallation<T>(
  options: PlaceOptions,
  work: (opened: Opened) => Promise<T>,
  { makes = false } = {},
): Promise<T> {
  await using records = await openRecords(placeSettings(options), { makes });
  // Awaited here: returned as it is, the work would go on after the installation is closed.
  return await work({ ...records, ...(await openAccountServices(records)) });
}

/** What a command does to an account, as its audit log says it. */
export function byCommand(
  account: string,
  operation: string,
  resource: { type: string; id: string },
  fields: string[] = [],
): Deed {
  return { account, actor: { type: "cli" }, operation, resource, fields };
}

/** JSON for programs, lines for people. */
export function print(value: unknown, json: boolean | undefined, lines: () => string[]): void {
  console.log(json ? JSON.stringify(value) : lines().join("\n"));
}

export function parseUsd(text: string): number {
  const usd = /^\d{1,7}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(usd <= MOST_USD))
    throw new InvalidArgumentError(`must be an amount of USD from 0 to ${MOST_USD}, such as 12.5`);
  return usd;
}
