/** `millrace check`: verifies a backup or a data folder, or says what a Kubernetes cluster lacks. */
import { stat } from "node:fs/promises";
import { Command } from "commander";
import { type ClusterFlags, checkCluster, withClusterFlags } from "./check-cluster.ts";
import { Failure } from "./failure.ts";
import { print } from "./installation.ts";
import { type OpenerOptions, openersOf, withOpeners } from "./restore.ts";
import type { Shell } from "./shell.ts";

interface Options extends OpenerOptions, ClusterFlags {}

export function checkCommand(shell: Shell): Command {
  const about = "verify a backup file, a data folder, or without either a Kubernetes cluster; changes nothing";
  return withClusterFlags(withOpeners(new Command("check").description(about)))
    .argument("[path]", "a file that 'millrace backup' wrote, or a data folder")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  millrace check /backups/monday.millrace\n  millrace check --kubeconfig ~/.kube/config",
    )
    .action(async (path: string | undefined, options: Options) => {
      if (path === undefined) return checkCluster(shell, options);
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
