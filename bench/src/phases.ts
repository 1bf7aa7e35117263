/** The phases of a measurement. Each starts a new stack, warms up, measures, checks that nothing was lost, and ends it. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { freePort, startProgram } from "./child.ts";
import { cpuSeconds } from "./process-tree.ts";
import type { Running, Stack, WorkerKind } from "./stack.ts";
import type { LoadReport, LoadSettings, Target } from "./workload.ts";

export interface Pace {
  warmupMs: number;
  measureMs: number;
  /** The folder for everything that the stacks store. */
  folder: string;
}

export interface Measure {
  /** Requests or jobs in the measured time. */
  count: number;
  seconds: number;
  cpuSeconds: number;
  /** Per second of wall-clock time. */
  rate: number;
  /** Per second of CPU time of the server, its workers and its database. */
  perCpuSecond: number;
  latencyMs?: LoadReport["latencyMs"];
}

export type PhaseName =
  | "submit"
  | "together"
  | "together-single"
  | "runsync-64"
  | "runsync-1"
  | "forward"
  | "forward-1";

export const CONNECTIONS = 64;
const DRAIN_LIMIT_MS = 60_000;
const SLACK_MS = 60_000;

export function measureOf(count: number, seconds: number, cpu: number): Measure {
  return { count, seconds, cpuSeconds: cpu, rate: count / seconds, perCpuSecond: count / cpu };
}

export async function echoPhase(pace: Pace): Promise<Measure> {
  const port = await freePort();
  await using echo = await startProgram("echo.ts", { port });
  const target = { port, path: "/echo", headers: { authorization: `Bearer ${"x".repeat(47)}` } };
  const { report, cpu } = await load({ target, connections: CONNECTIONS, ...pace }, () => [echo.pid]);
  return { ...measureOf(report.count, report.seconds, cpu), latencyMs: report.latencyMs };
}

export async function runPhase(stack: Stack, phase: PhaseName, pace: Pace): Promise<Measure> {
  const folder = await mkdtemp(join(pace.folder, "phase-"));
  try {
    await using running = await stack.start(folder);
    switch (phase) {
      case "submit":
        return await submitOnly(running, pace);
      case "together":
        return await together(running, "ours", pace);
      case "together-single":
        return await together(running, "single", pace);
      case "runsync-64":
        return await runsync(running, CONNECTIONS, pace);
      case "runsync-1":
        return await runsync(running, 1, pace);
      case "forward":
        return await forward(running, CONNECTIONS, pace);
      case "forward-1":
        return await forward(running, 1, pace);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Only submits: all accepted jobs must wait in the queue afterwards. */
export async function submitOnly(running: Running, pace: Pace): Promise<Measure> {
  const before = await running.counts();
  const { report, cpu } = await load({ target: running.submit, connections: CONNECTIONS, ...pace }, running.pids);
  const { waiting } = await running.counts();
  if (waiting - before.waiting !== report.accepted) {
    throw new Error(`${report.accepted} jobs were accepted, but ${waiting - before.waiting} wait`);
  }
  return { ...measureOf(report.count, report.seconds, cpu), latencyMs: report.latencyMs };
}

/** Submits and completes, and counts until the queue is empty again. */
async function together(running: Running, kind: WorkerKind, pace: Pace): Promise<Measure> {
  await running.startWorker(kind);
  const begun = { at: 0, cpu: 0, completed: 0 };
  const settings = { target: running.submit, connections: CONNECTIONS, ...pace };
  const { report } = await load(settings, running.pids, async () => {
    begun.completed = (await running.counts()).completed;
    begun.at = performance.now();
    begun.cpu = cpuSeconds(running.pids());
  });
  const { completed } = await drained(running, report.accepted);
  const seconds = (performance.now() - begun.at) / 1000;
  return measureOf(completed - begun.completed, seconds, cpuSeconds(running.pids()) - begun.cpu);
}

async function runsync(running: Running, connections: number, pace: Pace): Promise<Measure> {
  await running.startWorker("ours");
  const { report, cpu } = await load({ target: running.runsync, connections, ...pace }, running.pids);
  await drained(running, report.accepted);
  return { ...measureOf(report.count, report.seconds, cpu), latencyMs: report.latencyMs };
}

/** Sends requests to a worker through a proxy. Each answer must come from the worker. */
async function forward(running: Running, connections: number, pace: Pace): Promise<Measure> {
  const { report, cpu } = await load({ target: running.submit, connections, ...pace }, running.pids);
  return { ...measureOf(report.count, report.seconds, cpu), latencyMs: report.latencyMs };
}

/** Waits until no job waits. Then every accepted job must have been completed, once. */
export async function drained(running: Running, accepted: number): Promise<{ completed: number }> {
  const until = performance.now() + DRAIN_LIMIT_MS;
  for (;;) {
    const { waiting, completed, failed } = await running.counts();
    const over = completed >= accepted || failed > 0 || performance.now() > until;
    if (waiting === 0 && over) {
      if (completed === accepted && failed === 0) return { completed };
      throw new Error(`${accepted} jobs were accepted, but ${completed} completed and ${failed} failed`);
    }
    if (over && performance.now() > until)
      throw new Error(`${waiting} jobs still wait after ${DRAIN_LIMIT_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs the generator. The CPU time is that of the measured period. */
export async function load(
  settings: LoadSettings & { target: Target },
  pids: () => number[],
  measuring?: () => Promise<void>,
): Promise<{ report: LoadReport; cpu: number }> {
  await using generator = await startProgram("generator.ts", { ...settings });
  generator.send("go");
  await generator.message("measuring", settings.warmupMs + SLACK_MS);
  const before = cpuSeconds(pids());
  await measuring?.();
  await generator.message("measured", settings.measureMs + SLACK_MS);
  const cpu = cpuSeconds(pids()) - before;
  const { report } = await generator.message<{ report: LoadReport }>("done", SLACK_MS);
  if (report.refused > 0) throw new Error(`${report.refused} answers were no success, such as: ${report.example}`);
  return { report, cpu };
}
