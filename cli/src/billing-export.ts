/** `millrace billing export` and `millrace installation export-billing`: usage for invoices, as CSV or JSON. */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { parseTimestamp, timestamp } from "@millrace/platform/kernel/clock.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import { administrationOperations } from "@millrace/platform/resources/administration/operations.ts";
import { billingOperations } from "@millrace/platform/resources/billing/operations.ts";
import { Command, InvalidArgumentError, Option } from "commander";
import { ApiClient } from "./api.ts";
import { Failure } from "./failure.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import type { Shell } from "./shell.ts";

interface Options extends TargetOptions {
  from?: string;
  to?: string;
  format: "csv" | "json";
  out?: string;
  account?: string;
}

export const billingExport = (shell: Shell): Command =>
  exporting("export", "export usage for invoices, exact to the last digit", "billing").action((options: Options) =>
    write(shell, billingOperations.exportBilling.path, options),
  );

export const installationExport = (shell: Shell): Command =>
  exporting("export-billing", "export usage of all accounts for invoices", "installation")
    .option("--account <id>", "only of this account")
    .action((options: Options) => write(shell, administrationOperations.exportInstallationBilling.path, options));

function exporting(name: string, about: string, group: string): Command {
  return withTarget(new Command(name).description(about))
    .option("--from <time>", "a day or a time in UTC, such as 2026-11-01; 30 days ago by default", parseTime)
    .option("--to <time>", "the first moment that is not in it; now by default", parseTime)
    .addOption(new Option("--format <format>", "csv or json").choices(["csv", "json"]).default("csv"))
    .option("-o, --out <file>", "write to this file; standard output by default")
    .addHelpText("after", `\nExample:\n  millrace ${group} ${name} --from 2026-11-01 --to 2026-12-01 -o november.csv`);
}

function parseTime(text: string): string {
  const time = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
  if (time === undefined)
    throw new InvalidArgumentError("must be a day such as 2026-11-01, or a time such as 2026-11-01T06:00:00Z");
  return timestamp(time);
}

/** A file that is not whole is an error, and says so: an invoice must not be made from half of the lines. */
async function write(shell: Shell, path: string, { from, to, format, out, account, ...target }: Options) {
  const api = await ApiClient.open(target, shell.env);
  const query = { startTime: from, endTime: to, format, accountId: account };
  const { body } = await api.send(requestPath(path, { query }));
  try {
    if (out === undefined) await pipeline(body, shell.stdout, { end: false });
    else await pipeline(body, createWriteStream(out));
  } catch (error) {
    throw new Failure(`the export is not whole: ${(error as Error).message}. Export again.`);
  }
}
