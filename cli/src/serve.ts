/** `millrace serve`: runs the server until it is told to stop. */

import { channel } from "node:diagnostics_channel";
import { flushCompileCache } from "node:module";
import { isLoopback, nodeUrlOf } from "@millrace/platform/composition/server-address.ts";
import { holding, realClock } from "@millrace/platform/kernel/clock.ts";
import { floating } from "@millrace/platform/kernel/floating.ts";
import { allSettings } from "@millrace/platform/settings/settings.ts";
import { Command } from "commander";
import { type EmulationFlags, openEmulated } from "./emulation.ts";
import { wrongUse } from "./failure.ts";
import { refusedDatabaseUrl } from "./installation.ts";
import type { Shell } from "./shell.ts";

export function serveCommand({ env }: Pick<Shell, "env">): Command {
  const command = new Command("serve")
    .description("run the server")
    .addHelpText("after", "\nExample:\n  millrace serve --port 8420");
  for (const { flag, variable, value, about, default: standard } of allSettings) {
    const help = `${about} (${variable}${standard === undefined ? "" : `; default ${standard}`})`;
    if (flag) command.option(`--${flag} <${value}>`, help);
  }
  command
    .option("--emulate", "run the emulator: virtual GPUs and time, faults on request, and stand-ins for programs")
    .option("--state <file>", "with --emulate: the file that the state is loaded from, and saved to at the end");
  return command.addOption(refusedDatabaseUrl()).action(async (flags: Flags) => {
    if (flags.state !== undefined && !flags.emulate) throw wrongUse("--state is the emulator's: add --emulate");
    const { ownerKeyFile, ownerKeyWasShown, processSettings, serve, unreadVariables } = await import(
      "@millrace/platform/main.ts"
    );
    const { LastGuard } = await import("@millrace/platform/composition/last-guard.ts");
    const emulated = flags.emulate ? await openEmulated(processSettings(settingFlags(flags)), flags) : undefined;
    const settings = emulated?.settings ?? processSettings(settingFlags(flags));
    const unread = await unreadVariables();
    if (unread) console.error(`millrace: ${unread}`);
    const server = await serve(settings, emulated && { clock: emulated.emulation.clock }, emulated?.emulation);
    const exit = (code: number) => process.exit(code);
    const end = async () => {
      await holding(server[Symbol.asyncDispose]());
      await emulated?.end();
    };
    const streams = [process.stdout, process.stderr];
    new LastGuard({ process, streams, log: server.log, clock: realClock, end, exit });
    const failed = (error: unknown) => {
      console.error(`millrace: could not end in order: ${(error as Error).message}`);
      exit(1);
    };
    // This comes before the line that says the server is ready, because a program that waits for it may end the server at once.
    let isEnding = false;
    const endBySignal = (signal: "SIGTERM" | "SIGINT") => {
      // Everything acknowledged is on disk. Exiting at once is like a crash, from which the next start recovers.
      if (isEnding) return exit(130);
      isEnding = true;
      const said = signal === "SIGINT" ? server.ending().then(sayEnding) : Promise.resolve();
      said.then(end).then(() => exit(0), failed);
    };
    // The log says what came of it.
    process.on("SIGUSR2", () =>
      floating(server.readLogLevel(), (error) => server.log.error({ err: error }, "no log level")),
    );
    process.once("SIGTERM", endBySignal);
    process.on("SIGINT", endBySignal);
    if (server.newOwnerKey) {
      const { printsToJournal } = await import("./journal.ts");
      const kept = ownerKeyFile(settings);
      if (printsToJournal(env)) {
        console.log(`your API key is in ${kept}; 'millrace open --data ${settings.data}' makes a link to the console`);
      } else {
        console.log(`your API key, shown this once and kept in ${kept}: ${server.newOwnerKey}`);
        if (server.signInLink) console.log(`sign in within 10 minutes, once, at ${server.signInLink}`);
      }
      await ownerKeyWasShown(settings);
    }
    if (!isLoopback(settings.host))
      console.log(
        `other machines reach it at ${nodeUrlOf(settings.host, new URL(server.url).port)}, by plain HTTP: ` +
          "set --tls-cert, or put a proxy that speaks TLS in front, before keys cross a network that others can read",
      );
    if (server.secureUrl) console.log(`by TLS at ${server.secureUrl}`);
    console.log(`listening on ${server.url}`);
    // Compiled code is kept now, because the engine later drops what only a start needs, and a killed server keeps nothing.
    flushCompileCache();
    channel("millrace:started").publish(undefined);
  });
}

type Flags = Record<string, string | undefined> & EmulationFlags;

const settingFlags = ({ emulate: _, state: __, ...flags }: Flags): Record<string, string | undefined> => flags;

/** Tells the person at the terminal. A process manager that sends SIGTERM reads the log. */
const sayEnding = (text: string) => console.error(`millrace: ${text}`);
