/** `millrace top`: a live view of queues, workers, Pods and GPUs in the terminal. */
import { styleText } from "node:util";
import { sleep, timestamp } from "@millrace/platform/kernel/clock.ts";
import { spendingOperations } from "@millrace/platform/resources/spending/operations.ts";
import { Command } from "commander";
import { ApiClient } from "./api.ts";
import { EXIT, Failure, Refusal, wrongUse } from "./failure.ts";
import { endpointRow, type Overview, overviewOf, podRows, workerRows } from "./overview.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";
import { tableLines } from "./table.ts";

interface Options extends TargetOptions {
  interval?: string;
  once?: boolean;
}

/** The other screen of a terminal, so that what was there before comes back; no cursor on it. */
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const CTRL_C = "\u0003";
const STANDARD_S = 2;

export function topCommand(shell: Shell): Command {
  return withTarget(new Command("top").description("show queues, workers, Pods and GPUs, live; q ends it"))
    .option("--interval <seconds>", "how often it is read again; 2 by default")
    .option("--once", "print it once, as in a pipe")
    .addHelpText("after", "\nExample:\n  millrace top --once")
    .action(async ({ interval, once, ...target }: Options) => {
      const seconds = interval === undefined ? STANDARD_S : Number(interval);
      if (!(seconds >= 0.5 && seconds <= 3600)) throw wrongUse("--interval takes seconds, from 0.5 to 3600");
      const api = await ApiClient.open(target, shell.env);
      if (!once && shell.stdout.isTTY) return live(shell, api, seconds * 1000);
      for (const line of await linesOf(shell, api, false)) writeLine(shell.stdout, line);
    });
}

async function live(shell: Shell, api: ApiClient, intervalMs: number): Promise<void> {
  const { stdin, stdout } = shell;
  const stop = Promise.withResolvers<void>();
  const interrupted = shell.interrupted();
  interrupted.addEventListener("abort", () => stop.resolve(), { once: true });
  const typed = (keys: Buffer) => {
    const text = String(keys);
    // In raw mode Ctrl-C is a key like another.
    if (["q", "Q", CTRL_C].some((key) => text.includes(key))) stop.resolve();
  };
  let isOver = false;
  const over = stop.promise.then(() => {
    isOver = true;
  });
  stdout.write(ENTER);
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on("data", typed);
  try {
    while (!isOver) {
      draw(shell, await linesOf(shell, api, true).catch(problemLines));
      await Promise.race([sleep(shell.clock, intervalMs), over]);
    }
  } finally {
    stdin.off("data", typed);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    stdout.write(LEAVE);
  }
  if (interrupted.aborted) shell.exit(EXIT.interrupted);
}

/** A server that is away for a moment does not end the view. A refusal does. */
function problemLines(error: unknown): string[] {
  if (!(error instanceof Failure) || error instanceof Refusal) throw error;
  return [error.message, "", "It is tried again. q ends this."];
}

function draw({ stdout }: Shell, lines: readonly string[]): void {
  const { rows = 24 } = stdout;
  const shown = lines.slice(0, rows - 1).map((line) => `${line}${CLEAR_LINE}`);
  stdout.write(`${HOME}${shown.join("\r\n")}\r\n${CLEAR_BELOW}`);
}

async function linesOf(shell: Shell, api: ApiClient, isLive: boolean): Promise<string[]> {
  const { stdout, clock } = shell;
  const [overview, account] = await Promise.all([
    overviewOf(api),
    api.call(spendingOperations.getAccount).catch(() => undefined),
  ]);
  const width = isLive ? stdout.columns : undefined;
  const cut = (lines: string[]) => lines.map((line) => (width ? line.slice(0, width) : line));
  const money = account ? `  ${account.name}, ${account.spentThisMonth.toFixed(2)} USD this month` : "";
  const title = `${api.target.url}  ${timestamp(clock.now()).slice(0, 19)}Z${money}`;
  const parts = sections(overview).flatMap(([name, rows, columns]) => {
    const [head = "", ...lines] = cut(tableLines(rows, columns));
    const titles = isLive ? [styleText("bold", name), styleText("dim", head)] : [name, head];
    return rows.length === 0 ? [] : ["", ...titles, ...lines];
  });
  return [...cut([title, countsOf(overview)]), ...parts];
}

type Section = [name: string, rows: Record<string, unknown>[], columns: string[]];

function sections(overview: Overview): Section[] {
  const { endpoints } = overview;
  const workers = endpoints.flatMap(workerRows);
  return [
    [
      "Queues",
      endpoints.map(endpointRow),
      ["name", "id", "inQueue", "inProgress", "completed", "failed", "on", "note"],
    ],
    ["Workers", workers, ["id", "name", "status", "on", "up", "note"]],
    ["Pods", podRows(overview), ["name", "id", "status", "on", "gpu", "cpu", "memory", "up", "note"]],
  ];
}

function countsOf({ pods, endpoints }: Overview): string {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const queued = sum(endpoints.map(({ health }) => health?.jobs.inQueue ?? 0));
  const running = sum(endpoints.map(({ health }) => health?.jobs.inProgress ?? 0));
  const workers = sum(endpoints.map((one) => one.workers.length));
  const busy = pods.filter(({ status }) => status === "RUNNING").length;
  return `${queued} jobs wait, ${running} run on ${workers} workers; ${busy} of ${pods.length} Pods run`;
}
