/** `millrace logs`: the lines of a Pod, of all workers of an endpoint, of one worker, or of the run of one job. */
import { styleText } from "node:util";
import { parseTimestamp, sleep, timestamp } from "@millrace/platform/kernel/clock.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import { Command, InvalidArgumentError } from "commander";
import { ApiClient } from "./api.ts";
import { parseDuration } from "./duration.ts";
import { EXIT, Failure, Refusal } from "./failure.ts";
import { type FoundLog, findLog } from "./find-log.ts";
import { type TargetOptions, withTarget } from "./profiles.ts";
import { type Shell, writeLine } from "./shell.ts";

interface Options extends TargetOptions {
  follow?: boolean;
  tail?: number;
  since?: string;
  source?: string;
  endpoint?: string;
  timestamps?: boolean;
  json?: boolean;
}

interface Line {
  ts: string;
  source: "container" | "system";
  line: string;
  workerId?: string | null;
}

/** A stream that broke is opened again after this time. */
const AGAIN_MS = 1000;
const MOST_TAIL = 5000;

export function logsCommand(shell: Shell): Command {
  return withTarget(
    new Command("logs").description("print the log of a Pod, an endpoint, a worker or a job, and follow it with -f"),
  )
    .argument("<thing>", "id or name of an endpoint or a Pod, or id of a worker or a job")
    .option("-f, --follow", "follow the log: print every new line")
    .option("--tail <n>", "how many of the last lines come first; 100 by default", tailOf)
    .option("--since <time>", "lines from then on, such as 10m, 2h or 2026-01-31T12:00:00Z")
    .option("--source <source>", "container: what the program wrote; system: what Millrace says about it", sourceOf)
    .option("--endpoint <id>", "the endpoint of a worker that has ended, or of a job")
    .option("-t, --timestamps", "begin each line with its time")
    .option("--json", "print one JSON object a line")
    .addHelpText("after", "\nExample:\n  millrace logs echo --since 10m -f")
    .action(async (thing: string, options: Options) => {
      const api = await ApiClient.open(options, shell.env);
      const since = options.since === undefined ? undefined : sinceOf(options.since, shell.clock.now());
      const found = await findLog(api, thing, options.endpoint);
      const print = printer(shell, options, found.hasMany);
      await (options.follow ? followed : once)(shell, api, { found, since, options, print });
    });
}

interface Reading {
  found: FoundLog;
  since: string | undefined;
  options: Options;
  print: (line: Line) => void;
}

function pathOf({ found, since, options }: Reading, follow: boolean): string {
  const { tail, source } = options;
  const from = since ?? found.since;
  return requestPath(found.path, { query: { follow, source, ...(from === undefined ? { tail } : { since: from }) } });
}

async function once(_shell: Shell, api: ApiClient, reading: Reading): Promise<void> {
  const { found, print } = reading;
  for await (const { data } of api.events(pathOf(reading, false))) {
    const line = data as Line;
    if (found.until === undefined || line.ts <= found.until) print(line);
  }
}

/** The stream goes on behind the last line if the connection breaks. A refusal ends it. */
async function followed(shell: Shell, api: ApiClient, reading: Reading): Promise<void> {
  const signal = shell.interrupted();
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const { found, print } = reading;
  let lastEventId: string | undefined;
  while (!signal.aborted) {
    try {
      for await (const { id, data } of api.events(pathOf(reading, true), { signal, lastEventId })) {
        if (id !== undefined) lastEventId = id;
        const line = data as Line;
        if (found.until !== undefined && line.ts > found.until) return;
        print(line);
      }
    } catch (error) {
      if (!signal.aborted && (!(error instanceof Failure) || error instanceof Refusal || lastEventId === undefined))
        throw error;
    }
    if (found.until !== undefined) return;
    await Promise.race([sleep(shell.clock, AGAIN_MS), stopped]);
  }
  shell.exit(EXIT.interrupted);
}

function printer({ stdout }: Shell, { json, timestamps }: Options, hasMany: boolean): (line: Line) => void {
  if (json) return (line) => writeLine(stdout, JSON.stringify(line));
  const dim = (text: string) => (stdout.isTTY ? styleText("dim", text, { stream: stdout }) : text);
  return ({ ts, source, line, workerId }) => {
    const before = [timestamps && dim(ts), hasMany && dim(`${workerId ?? "-"} |`)].filter(Boolean);
    writeLine(stdout, [...before, source === "system" ? dim(`[${line}]`) : line].join(" "));
  };
}

function tailOf(text: string): number {
  const tail = Number(text);
  if (!Number.isInteger(tail) || tail < 0 || tail > MOST_TAIL)
    throw new InvalidArgumentError(`it must be from 0 to ${MOST_TAIL}`);
  return tail;
}

function sourceOf(text: string): string {
  if (text === "container" || text === "system") return text;
  throw new InvalidArgumentError("it must be container or system");
}

/** A time, or how long ago. */
function sinceOf(text: string, now: number): string {
  return timestamp(parseTimestamp(text) ?? now - parseDuration(text));
}
