/** `millrace doctor`: looks at this machine and says of each thing whether it is well, and how to mend it. */
import { styleText } from "node:util";
import { Command } from "commander";
import { type Check, type Finding, machineChecks } from "./doctor-checks.ts";
import { Failure } from "./failure.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options extends TargetOptions {
  json?: boolean;
  data?: string;
}

const COLOURS = { ok: "green", warn: "yellow", fail: "red" } as const;

export function doctorCommand(shell: Shell): Command {
  return withTarget(new Command("doctor").description("check this machine, and say how to fix what is wrong"))
    .option("--data <dir>", "the data folder (or MILLRACE_DATA)")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample:\n  millrace doctor --json")
    .action(async ({ json, data, ...target }: Options) => {
      const env = { ...shell.env, ...(data !== undefined && { MILLRACE_DATA: data }) };
      const findings = await Promise.all(machineChecks({ env, target, clock: shell.clock }).map(examined));
      if (json) writeLine(shell.stdout, JSON.stringify({ checks: findings }));
      else for (const finding of findings) printFinding(shell, finding);
      const failed = findings.filter(({ state }) => state === "fail").length;
      if (failed > 0) throw new Failure(`${failed} of ${findings.length} things are wrong`);
    });
}

/** A check that breaks is a finding too. */
async function examined({ name, look }: Check): Promise<Finding & { name: string }> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, state: "warn", says: `could not be looked at: ${(error as Error).message}` };
  }
}

function printFinding({ stdout }: Shell, { name, state, says, mend }: Finding & { name: string }): void {
  const word = state.padEnd(4);
  writeLine(stdout, `${stdout.isTTY ? styleText(COLOURS[state], word, { stream: stdout }) : word}  ${name}: ${says}`);
  if (mend !== undefined) writeLine(stdout, `      ${mend}`);
}
