/** Shows what an operation answered: a table or facts for people, JSON or ids for programs, once or again and again. */
import { sleep } from "@millrace/platform/kernel/clock.ts";
import { EXIT, wrongUse } from "./failure.ts";
import type { Schema } from "./flags.ts";
import { type Shell, writeLine } from "./shell.ts";
import { columnsOf, factLines, printTable, tableLines } from "./table.ts";

type Row = Record<string, unknown>;

export interface Shown {
  shell: Shell;
  options: { json?: boolean; quiet?: boolean };
  schema: Schema | undefined;
  /** The key of the records, where the answer is a list. */
  list: string | undefined;
  columns: readonly string[] | undefined;
  /** What is said where the answer has nothing in it. */
  done: string;
  id: string | undefined;
}

export function printAnswer(shown: Shown, answer: unknown): void {
  const { shell, options, list, done, id } = shown;
  const { stdout } = shell;
  const rows = list === undefined ? undefined : ((answer as Row)[list] as Row[]);
  if (options.json) writeLine(stdout, JSON.stringify(answer ?? { id }));
  else if (answer === undefined) writeLine(stdout, done);
  else if (options.quiet) for (const row of rows ?? [answer as Row]) writeLine(stdout, idOf(row));
  else if (rows) printTable(shell, tableLines(rows, shown.columns ?? columnsFor(shown, rows)));
  else for (const line of factLines(answer as Row)) writeLine(stdout, line);
}

const idOf = ({ id, name, path }: Row) => String(id ?? name ?? path ?? "");

/** Columns in which no record has a value are left out. */
function columnsFor({ schema, list }: Shown, rows: readonly Row[]): string[] {
  const columns = columnsOf(schema?.properties?.[list!]?.items ?? {});
  const used = columns.filter((name) => rows.some((row) => row[name] !== undefined && row[name] !== null));
  return used.length > 0 ? used : columns;
}

const STANDARD_S = 2;
const CLEAR = "\x1b[H\x1b[2J\x1b[3J";

/** On a terminal each reading replaces the one before it. In a pipe, only a reading that differs is written. */
export async function watched(shown: Shown, interval: string | true, read: () => Promise<unknown>): Promise<void> {
  const seconds = interval === true ? STANDARD_S : Number(interval);
  if (!(seconds >= 0.2 && seconds <= 86_400)) throw wrongUse("--watch takes seconds, from 0.2 to 86400");
  const { shell } = shown;
  const signal = shell.interrupted();
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  let before = "";
  while (!signal.aborted) {
    const answer = await read();
    const text = JSON.stringify(answer);
    if (shell.stdout.isTTY) shell.stdout.write(CLEAR);
    if (shell.stdout.isTTY || text !== before) printAnswer(shown, answer);
    before = text;
    await Promise.race([sleep(shell.clock, seconds * 1000), stopped]);
  }
  shell.exit(EXIT.interrupted);
}
