/** `millrace check`: verifies a backup, or a data folder. */
import { stat } from "node:fs/promises";
import { Command } from "commander";
import { Failure } from "./failure.ts";
import { print } from "./installation.ts";
import { type OpenerOptions, openersOf, withOpeners } from "./restore.ts";

interface Options extends OpenerOptions {
  json?: boolean;
}

export function checkCommand(): Command {
  return withOpeners(new Command("check").description("verify a backup file or a data folder; changes nothing"))
    .argument("<path>", "a file that 'millrace backup' wrote, or a data folder")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace check /backups/monday.millrace")
    .action(async (path: string, options: Options) => {
      const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
        throw new Failure(`${path} cannot be read (${cause.code})`, undefined, { cause });
      });
      await (found.isDirectory() ? checkData(path, options) : checkFile(path, options));
    });
}

async function checkFile(file: string, options: Options): Promise<void> {
  const { checkBackup } = await import("@millrace/platform/composition/backup/check.ts");
  const { header, parts } = await checkBackup(file, await openersOf(options));
  print({ ...header, parts }, options.json, () => [
    `${file} is whole: ${parts} parts, written by ${header.version}, as it was at ${header.at}`,
  ]);
}

async function checkData(data: string, { json }: Options): Promise<void> {
  const { checkFolder } = await import("@millrace/platform/composition/backup/check.ts");
  const checked = await checkFolder(data);
  const formats = Object.entries(checked.formats).map(([name, format]) => `${name} (format ${format})`);
  print(checked, json, () => [`${data} is whole: ${formats.join(", ")}, ${checked.payloads} payload files`]);
}
