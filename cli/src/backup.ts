/** `millrace backup`: one file with everything of a data folder, made while the server runs. */
import { readFile } from "node:fs/promises";
import { setPriority } from "node:os";
import type { Made } from "@millrace/platform/composition/backup/backup.ts";
import { Command } from "commander";
import { wrongUse } from "./failure.ts";
import { type PlaceOptions, placeSettings, print, withPlace } from "./installation.ts";
import { VERSION } from "./version.ts";

interface Options extends PlaceOptions {
  passphraseFile?: string;
  recipient?: string[];
  withKeys?: boolean;
  json?: boolean;
}

const MIB = 1_048_576;
const SHORTEST_PASSPHRASE = 12;
/** The server goes first where both want the processor. */
const NICE = 10;

export function backupCommand(): Command {
  return withPlace(
    new Command("backup").description("write everything of a data folder into one file; works while the server runs"),
  )
    .argument("<file>", "a new file, outside the data folder")
    .option("--passphrase-file <file>", "encrypt it with the passphrase in this file")
    .option("--recipient <age1…>", "encrypt it for the holder of an age key; may be repeated", gathered)
    .option("--with-keys", "put the master key and the owner's API key into it too; needs encryption")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample:\n  millrace backup /backups/monday.millrace --passphrase-file ~/passphrase --with-keys",
    )
    .action(async (file: string, options: Options) => {
      const { makeBackup } = await import("@millrace/platform/composition/backup/backup.ts");
      const seal = await sealOf(options);
      setPriority(NICE);
      const made = await makeBackup(placeSettings(options), file, {
        ...{ keys: options.withKeys ?? false, seal, version: VERSION },
      });
      print(made, options.json, () => linesOf(made));
    });
}

const gathered = (value: string, before: string[] = []) => [...before, value];

async function sealOf({ passphraseFile, recipient }: Options) {
  if (passphraseFile !== undefined && recipient) throw wrongUse("--passphrase-file and --recipient exclude each other");
  if (recipient) return { recipients: recipient };
  return passphraseFile === undefined ? undefined : { passphrase: await newPassphrase(passphraseFile) };
}

async function newPassphrase(file: string): Promise<string> {
  const passphrase = await readPassphrase(file);
  if (passphrase.length < SHORTEST_PASSPHRASE)
    throw wrongUse(`the passphrase in ${file} has ${passphrase.length} characters: it needs ${SHORTEST_PASSPHRASE}`);
  return passphrase;
}

/** The first line of the file. */
export async function readPassphrase(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw wrongUse(`${file}, named by --passphrase-file, cannot be read (${cause.code})`, { cause });
  });
  const [line = ""] = text.split("\n", 1);
  if (line.trim() === "") throw wrongUse(`${file}, named by --passphrase-file, is empty`);
  return line.trim();
}

function linesOf({ file, header, bytes, isEncrypted }: Made): string[] {
  const { at, hasKeys, masterKeys } = header;
  return [
    `wrote ${file}: ${(bytes / MIB).toFixed(1)} MB, ${isEncrypted ? "encrypted" : "not encrypted"}`,
    `it holds everything that was acknowledged before ${at}: records, jobs and their payloads`,
    hasKeys
      ? "it holds the master key and the owner's API key: keep the passphrase or the age key apart from it"
      : `it does not hold the master key (${masterKeys[0]}): keep that apart, since a restore needs it`,
    "it does not hold volumes, disks of Pods, logs and images: docs/operating.md says how to keep those",
  ];
}
