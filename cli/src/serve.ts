/** `millrace serve`: runs the server until it is told to stop. */
import { holding, realClock } from "@millrace/platform/kernel/clock.ts";
import { allSettings } from "@millrace/platform/settings.ts";
import { Command } from "commander";
import { refusedDatabaseUrl } from "./installation.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description("run the server");
  for (const { flag, variable, value, about, default: standard } of allSettings) {
    const help = `${about} (${variable}${standard === undefined ? "" : `; default ${standard}`})`;
    if (flag) command.option(`--${flag} <${value}>`, help);
  }
  return command.addOption(refusedDatabaseUrl()).action(async (flags: Record<string, string | undefined>) => {
    const { ownerKeyFile, processSettings, serve } = await import("@millrace/platform/main.ts");
    const { LastGuard } = await import("@millrace/platform/last-guard.ts");
    const settings = processSettings(flags);
    const server = await serve(settings);
    const exit = (code: number) => process.exit(code);
    const end = () => holding(server[Symbol.asyncDispose]());
    const streams = [process.stdout, process.stderr];
    new LastGuard({ process, streams, log: server.log, clock: realClock, end, exit });
    const failed = (error: unknown) => {
      console.error(`millrace: could not end in order: ${(error as Error).message}`);
      exit(1);
    };
    // Before the line that says it is ready: whoever waits for it may end the server in the same moment.
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => end().then(() => exit(0), failed));
    if (server.newOwnerKey) {
      console.log(`your API key, shown this once and kept in ${ownerKeyFile(settings)}: ${server.newOwnerKey}`);
    }
    console.log(`listening on ${server.url}`);
  });
}
