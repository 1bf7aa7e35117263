/** Shows what checks found: a line for each, and below it what to do. */
import { styleText } from "node:util";
import { type Check, examined, type NamedFinding } from "@millrace/platform/kernel/finding.ts";
import { Failure } from "./failure.ts";
import { type Shell, writeLine } from "./shell.ts";

const COLOURS = { ok: "green", warn: "yellow", fail: "red" } as const;

/** Throws if something is wrong, so that the command ends with a status of its own. */
export async function showFindings(shell: Shell, checks: readonly Check[], json: boolean): Promise<void> {
  const findings = await Promise.all(checks.map(examined));
  if (json) writeLine(shell.stdout, JSON.stringify({ checks: findings }));
  else for (const finding of findings) printFinding(shell, finding);
  const failed = findings.filter(({ state }) => state === "fail").length;
  if (failed > 0) throw new Failure(`${failed} of ${findings.length} things are wrong`);
}

function printFinding({ stdout }: Shell, { name, state, says, mend }: NamedFinding): void {
  const word = state.padEnd(4);
  writeLine(stdout, `${stdout.isTTY ? styleText(COLOURS[state], word, { stream: stdout }) : word}  ${name}: ${says}`);
  if (mend !== undefined) writeLine(stdout, `      ${mend}`);
}
