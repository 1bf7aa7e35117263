/** The command line: one verb, one file. */
import { holding } from "@millrace/platform/kernel/clock.ts";
import { Command } from "commander";
import { accountsCommand } from "./accounts.ts";
import { execCommand } from "./exec.ts";
import { keysCommand } from "./keys.ts";
import { masterKeyCommand } from "./master-key.ts";
import { pricesCommand } from "./prices.ts";
import { serveCommand } from "./serve.ts";
import { workerEnvCommand } from "./worker-env.ts";

// The launcher's own setting: programs started from here must not inherit it.
delete process.env.NODE_COMPILE_CACHE;

const program = new Command("millrace")
  .description("An open, self-hosted cloud compute platform.")
  .version("0.1.0")
  .showHelpAfterError("(add --help for what is possible)")
  .addCommand(serveCommand())
  .addCommand(keysCommand())
  .addCommand(accountsCommand())
  .addCommand(pricesCommand())
  .addCommand(masterKeyCommand())
  .addCommand(workerEnvCommand())
  .addCommand(execCommand(process.env));

try {
  await holding(program.parseAsync());
} catch (error) {
  const reasons = (error as { errors?: readonly string[] }).errors ?? [];
  console.error([`millrace: ${(error as Error).message}`, ...reasons].join("\n  "));
  process.exitCode = 1;
}
