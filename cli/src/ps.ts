/** `millrace ps`: Pods, endpoints and workers in one table. */
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { endpointRow, overviewOf, podRows, workerRows } from "./overview.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";
import { printTable, tableLines } from "./table.ts";

interface Options extends TargetOptions {
  json?: boolean;
  quiet?: boolean;
}

export function psCommand(shell: Shell): Command {
  return withTarget(new Command("ps").description("list what runs: Pods, endpoints and their workers"))
    .option("--json", "print JSON")
    .option("-q, --quiet", "print ids alone")
    .addHelpText("after", "\nExample:\n  millrace ps")
    .action(async ({ json, quiet, ...target }: Options) => {
      const overview = await overviewOf(await ApiClient.open(target, shell.env));
      if (json) return writeLine(shell.stdout, JSON.stringify(overview));
      const rows = [
        ...podRows(overview),
        ...overview.endpoints.flatMap((endpoint) => [endpointRow(endpoint), ...workerRows(endpoint)]),
      ];
      if (quiet) for (const { id } of rows) writeLine(shell.stdout, String(id));
      else printTable(shell, tableLines(rows, ["kind", "id", "name", "status", "on", "up", "note"]));
    });
}
