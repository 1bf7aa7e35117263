/** The command line: each verb is one file, and only the requested one is loaded. */
import { holding } from "@millrace/platform/kernel/clock.ts";
import { Command } from "commander";
import { askedFor, verbs } from "./verbs.ts";

// The launcher sets this for itself. Programs started from here must not inherit it.
delete process.env.NODE_COMPILE_CACHE;

const program = new Command("millrace")
  .description("An open, self-hosted cloud compute platform.")
  .version("0.1.0")
  .showHelpAfterError("(add --help for what is possible)");

const asked = askedFor(process.argv.slice(2));
for (const { name, about, load } of verbs)
  program.addCommand(name === asked ? await load(process.env) : new Command(name).description(about));

try {
  await holding(program.parseAsync());
} catch (error) {
  const reasons = (error as { errors?: readonly string[] }).errors ?? [];
  console.error([`millrace: ${(error as Error).message}`, ...reasons].join("\n  "));
  process.exitCode = 1;
}
