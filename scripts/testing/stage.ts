/** One stage of the test command: a process group that is killed as a whole if it hangs, and that its programs cannot keep alive. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { PROGRESS_FILE, type Progress, readProgress } from "./progress.ts";
import { processesOf, RUN, type TestRun } from "./remains.ts";

export interface Stage {
  name: string;
  command: readonly [program: string, ...args: string[]];
  /** For tests that start real things: a failed test is run once more, alone, after all others. */
  triedAgain?: boolean;
}

export interface StageOutcome {
  passed: boolean;
  said: string;
  progress: Progress;
}

export interface StageOptions {
  run: TestRun;
  env: NodeJS.ProcessEnv;
  /** Shows the output while the stage runs. */
  live: boolean;
  /** A stage that shows no sign of life for this long hangs. */
  silentMs?: number;
}

const SILENT_MS = 5 * 60_000;
const LOOKS = 60;
const LAST_WORDS_MS = 2_000;
const GRACE_MS = 5_000;

export async function runStage(stage: Stage, options: StageOptions): Promise<StageOutcome> {
  const { run, live, silentMs = SILENT_MS } = options;
  const file = join(run.folder, `${stage.name.replaceAll(" ", "-")}.progress`);
  rmSync(file, { force: true });
  const child = spawn(stage.command[0], stage.command.slice(1), {
    env: { ...options.env, [RUN]: run.id, [PROGRESS_FILE]: file, TMPDIR: run.folder },
    stdio: ["ignore", "pipe", "pipe"],
    // The stage gets its own process group, which can be killed as a whole.
    detached: true,
  });
  groups.add(child);
  const said: Buffer[] = [];
  const hear = (part: Buffer) => {
    said.push(part);
    if (live) process.stdout.write(part);
  };
  for (const output of [child.stdout, child.stderr]) output.on("data", hear);
  const ended = once(child, "exit").then(
    ([code]) => code as number | null,
    (error: Error) => {
      hear(Buffer.from(`${error.message}\n`));
      return null;
    },
  );
  const watch = new AbortController();
  const hung = watchFor(child, { run, silentMs, signs: () => said.length + sizeOf(file), signal: watch.signal });
  const code = await ended;
  groups.delete(child);
  watch.abort();
  const silent = await hung;
  await lastWords(child);
  const progress = readProgress(file);
  if (silent) hear(Buffer.from(sayHung(silent, progress, silentMs)));
  return { passed: code === 0 && !silent, said: Buffer.concat(said).toString(), progress };
}

const groups = new Set<ChildProcess>();

/** Kills every running stage, because the test command was told to stop. */
export function endStages(): void {
  for (const child of groups) endGroup(child, "SIGKILL");
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

interface Quiet {
  /** The number of signs of life at the last look. */
  signs: number;
  /** How long there have been no new ones. */
  ms: number;
}

/** Returns how long a stage has been quiet, given the signs of life at this look. */
export function quietAfter(quiet: Quiet, signs: number, lookMs: number): Quiet {
  return { signs, ms: signs === quiet.signs ? quiet.ms + lookMs : 0 };
}

interface Watch {
  run: TestRun;
  silentMs: number;
  /** A number that grows while something happens. */
  signs(): number;
  signal: AbortSignal;
}

/** Kills a stage that hangs and resolves with the processes it had then. Resolves with undefined if it ended by itself. */
async function watchFor(child: ChildProcess, { run, silentMs, signs, signal }: Watch): Promise<string[] | undefined> {
  const lookMs = silentMs / LOOKS;
  let quiet: Quiet = { signs: -1, ms: 0 };
  while (!signal.aborted) {
    await wait(lookMs, undefined, { signal }).catch(() => {});
    quiet = quietAfter(quiet, signs(), lookMs);
    if (quiet.ms < silentMs || signal.aborted) continue;
    const processes = processesOf(run).map(({ pid, command }) => `${pid} ${command}`);
    endGroup(child, "SIGTERM");
    await wait(GRACE_MS, undefined, { signal }).catch(() => {});
    endGroup(child, "SIGKILL");
    return processes;
  }
  return undefined;
}

/** A program that the stage started may keep its output open forever. So the wait for the last output is short. */
async function lastWords(child: ChildProcess): Promise<void> {
  const outputs = [child.stdout, child.stderr].filter((output) => output !== null);
  const closed = outputs.map((output) => (output.closed ? undefined : once(output, "close")));
  const enough = new AbortController();
  await Promise.race([Promise.all(closed), wait(LAST_WORDS_MS, undefined, { signal: enough.signal }).catch(() => {})]);
  enough.abort();
  for (const output of outputs) output.destroy();
}

function sayHung(processes: readonly string[], { running }: Progress, silentMs: number): string {
  const list = (what: string, items: readonly string[]) =>
    items.length === 0 ? "" : `${what}:\n${items.map((item) => `  ${item}\n`).join("")}`;
  const minutes = Math.round(silentMs / 6_000) / 10;
  return [
    `\nNothing happened for ${minutes} minutes: this stage was ended.\n`,
    list("Test files that ran", running),
    list("Processes that were there", processes),
  ].join("");
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
