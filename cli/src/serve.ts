/** `millrace serve`: runs the server until it is told to stop. */
import { holding } from "@millrace/platform/kernel/clock.ts";
import { ownerKeyFile, processSettings, serve } from "@millrace/platform/main.ts";
import { settingTable } from "@millrace/platform/settings.ts";
import { Command } from "commander";
import { refusedDatabaseUrl } from "./installation.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description("run the server");
  for (const setting of Object.values(settingTable)) {
    const standard = "default" in setting ? `; default ${setting.default}` : "";
    const help = `${setting.about} (${setting.variable}${standard})`;
    if (setting.flag) command.option(`--${setting.flag} <${setting.value}>`, help);
  }
  return command.addOption(refusedDatabaseUrl()).action(async (flags: Record<string, string | undefined>) => {
    const settings = processSettings(flags);
    const server = await serve(settings);
    // Before the line that says it is ready: whoever waits for it may end the server in the same moment.
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, async () => {
        await holding(server[Symbol.asyncDispose]());
        process.exit(0);
      });
    }
    if (server.newOwnerKey) {
      console.log(`your API key, shown this once and kept in ${ownerKeyFile(settings)}: ${server.newOwnerKey}`);
    }
    console.log(`listening on ${server.url}`);
  });
}
