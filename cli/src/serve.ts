/** `millrace serve`: runs the server until it is told to stop. */

import { flushCompileCache } from "node:module";
import { isLoopback, nodeUrlOf } from "@millrace/platform/composition/server-address.ts";
import { holding, realClock } from "@millrace/platform/kernel/clock.ts";
import { allSettings } from "@millrace/platform/settings/settings.ts";
import { Command } from "commander";
import { refusedDatabaseUrl } from "./installation.ts";

export function serveCommand(): Command {
  const command = new Command("serve").description("run the server");
  for (const { flag, variable, value, about, default: standard } of allSettings) {
    const help = `${about} (${variable}${standard === undefined ? "" : `; default ${standard}`})`;
    if (flag) command.option(`--${flag} <${value}>`, help);
  }
  return command.addOption(refusedDatabaseUrl()).action(async (flags: Record<string, string | undefined>) => {
    const { ownerKeyFile, ownerKeyWasShown, processSettings, serve, unreadVariables } = await import(
      "@millrace/platform/main.ts"
    );
    const { LastGuard } = await import("@millrace/platform/composition/last-guard.ts");
    const settings = processSettings(flags);
    const unread = await unreadVariables();
    if (unread) console.error(`millrace: ${unread}`);
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
    let isEnding = false;
    const endBySignal = (signal: "SIGTERM" | "SIGINT") => {
      // What was acknowledged is on the disk: an end at once is a crash, after which the next start goes on.
      if (isEnding) return exit(130);
      isEnding = true;
      const said = signal === "SIGINT" ? server.ending().then(sayEnding) : Promise.resolve();
      said.then(end).then(() => exit(0), failed);
    };
    process.once("SIGTERM", endBySignal);
    process.on("SIGINT", endBySignal);
    if (server.newOwnerKey) {
      console.log(`your API key, shown this once and kept in ${ownerKeyFile(settings)}: ${server.newOwnerKey}`);
      await ownerKeyWasShown(settings);
    }
    if (!isLoopback(settings.host))
      console.log(
        `other machines reach it at ${nodeUrlOf(settings.host, new URL(server.url).port)}, by plain HTTP: ` +
          "put a proxy that speaks TLS in front before keys cross a network that others can read",
      );
    console.log(`listening on ${server.url}`);
    // Kept now: later the engine has dropped what only a start needs, and a server that is killed keeps nothing.
    flushCompileCache();
  });
}

/** To the person at the terminal; whoever sends SIGTERM reads the log. */
const sayEnding = (text: string) => console.error(`millrace: ${text}`);
