/** Opening an installation's data from the command line, also while a server runs on it. */
import { type Installation, openInstallation, processSettings, type Settings } from "@millrace/platform/main.ts";
import { type Command, Option } from "commander";

export interface PlaceOptions {
  data?: string;
  databaseUrl?: string;
}

export function withPlace(command: Command): Command {
  return command
    .addOption(new Option("--data <dir>", "folder that holds everything (or MILLRACE_DATA)"))
    .addOption(new Option("--database-url <url>", "PostgreSQL instead (or MILLRACE_DATABASE_URL)"));
}

export function placeSettings({ data, databaseUrl }: PlaceOptions): Settings {
  return processSettings({ data, databaseUrl });
}

export async function inInstallation<T>(
  options: PlaceOptions,
  work: (installation: Installation) => Promise<T>,
): Promise<T> {
  await using installation = await openInstallation(placeSettings(options), { thread: false });
  // Awaited here: returned as it is, the work would go on after the installation is closed.
  return await work(installation);
}

/** JSON for programs, lines for people. */
export function print(value: unknown, json: boolean | undefined, lines: () => string[]): void {
  console.log(json ? JSON.stringify(value) : lines().join("\n"));
}
