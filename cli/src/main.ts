/** The command line: one verb, one file. */
import { enableCompileCache } from "node:module";
import { Command } from "commander";
import { accountsCommand } from "./accounts.ts";
import { keysCommand } from "./keys.ts";
import { masterKeyCommand } from "./master-key.ts";
import { serveCommand } from "./serve.ts";

enableCompileCache();

const program = new Command("millrace")
  .description("An open, self-hosted cloud compute platform.")
  .version("0.1.0")
  .showHelpAfterError("(add --help for what is possible)")
  .addCommand(serveCommand())
  .addCommand(keysCommand())
  .addCommand(accountsCommand())
  .addCommand(masterKeyCommand());

try {
  await program.parseAsync();
} catch (error) {
  console.error(`millrace: ${(error as Error).message}`);
  process.exitCode = 1;
}
