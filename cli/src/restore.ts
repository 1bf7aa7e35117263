/** `millrace restore`: puts a backup into an empty data folder. */
import { readFile } from "node:fs/promises";
import type { Restored } from "@millrace/platform/composition/backup/restore.ts";
import { Command } from "commander";
import { readPassphrase } from "./backup.ts";
import { wrongUse } from "./failure.ts";
import { type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";

export interface OpenerOptions {
  passphraseFile?: string;
  identity?: string[];
}

interface Options extends PlaceOptions, OpenerOptions {
  masterKeyFile?: string;
  withoutMasterKey?: boolean;
  json?: boolean;
}

export function restoreCommand(): Command {
  return withOpeners(withPlace(new Command("restore").description("put a backup into an empty data folder")))
    .argument("<file>", "a file that 'millrace backup' wrote")
    .option("--master-key-file <file>", "the master key, if the backup does not hold it")
    .option("--without-master-key", "restore without it; nobody can read the secrets then")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace restore /backups/monday.millrace --data /var/lib/millrace")
    .action(async (file: string, options: Options) => {
      const { restoreBackup } = await import("@millrace/platform/composition/backup/restore.ts");
      const { masterKeyFile, withoutMasterKey = false } = options;
      const wish = { ...(await openersOf(options)), masterKeyFile, withoutMasterKey };
      const restored = await restoreBackup(placeSettings(options), file, wish);
      print(restored, options.json, () => linesOf(restored));
    });
}

export function withOpeners(command: Command): Command {
  return command
    .option("--passphrase-file <file>", "the passphrase of an encrypted backup")
    .option("--identity <file>", "the age key of an encrypted backup; may be repeated", gathered);
}

const gathered = (value: string, before: string[] = []) => [...before, value];

export async function openersOf({ passphraseFile, identity = [] }: OpenerOptions) {
  const passphrase = passphraseFile === undefined ? undefined : await readPassphrase(passphraseFile);
  return { passphrase, identities: await Promise.all(identity.map(readIdentity)) };
}

const readIdentity = (file: string) =>
  readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw wrongUse(`${file}, named by --identity, cannot be read (${cause.code})`, { cause });
  });

function linesOf({ data, header, checked, lost, hasMasterKey }: Restored): string[] {
  return [
    `restored ${data} as it was at ${header.at}, with ${checked.payloads} payload files`,
    ...(lost > 0 ? [`${lost} payload files were missing already when the backup was made: their jobs say so`] : []),
    hasMasterKey
      ? "start the server on it; jobs that ran at that time run again"
      : "it has no master key: put it there before you start the server, or no secret can be read",
  ];
}
