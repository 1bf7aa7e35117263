/** `millrace doctor`: looks at this machine and says of each thing whether it is well, and how to mend it. */
import { Command } from "commander";
import { machineChecks } from "./doctor-checks.ts";
import { serverVariables } from "./doctor-server.ts";
import { showFindings } from "./findings.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import type { Shell } from "./shell.ts";

interface Options extends TargetOptions {
  json?: boolean;
  data?: string;
}

export function doctorCommand(shell: Shell): Command {
  return withTarget(new Command("doctor").description("check this machine, and say how to fix what is wrong"))
    .option("--data <dir>", "the data folder (or MILLRACE_DATA)")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace doctor --json")
    .action(async ({ json = false, data, ...target }: Options) => {
      const own = { ...shell.env, ...(data !== undefined && { MILLRACE_DATA: data }) };
      const { variables: env, from } = await serverVariables(own);
      await showFindings(shell, machineChecks({ env, from, target, clock: shell.clock }), json);
    });
}
