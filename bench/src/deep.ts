/** Rows 9, 10 and 11: a queue of a million jobs against one of a thousand, its memory, and its recovery. */
import { jobId } from "../../platform/src/kernel/ids.ts";
import { realRandom } from "../../platform/src/kernel/random.ts";
import { median } from "./figures.ts";
import { KeptData } from "./kept-data.ts";
import type { RunningMillrace } from "./millrace.ts";
import { CONNECTIONS, load, type Measure, measureOf, type Pace, submitOnly } from "./phases.ts";
import type { Databases } from "./postgres.ts";
import { cpuSeconds, residentBytes } from "./process-tree.ts";
import { BODY } from "./workload.ts";

export interface DeepOptions {
  rows: ReadonlySet<string>;
  rounds: number;
  deep: number;
  /** Fills the queue by the public API, or ten times as fast by the queue's own code without a server. */
  fill: "http" | "direct";
  shallow: number;
  pace: Pace;
  say(line: string): void;
  /** Uses PostgreSQL if present, else SQLite. */
  databases?: Databases | undefined;
}

export interface DeepResult {
  on: "SQLite" | "PostgreSQL";
  depth: number;
  bytesPerJob?: number;
  bytesPerJobAfterRecovery?: number;
  recoveryCpuSeconds?: number;
  recoveryWallSeconds?: number;
  submitRatio?: Ratio & { all: number[] };
  takeRatio?: Ratio & { all: number[] };
  /** The same against a queue whose jobs are as old: they too were read from the disk when the server started. */
  takeRatioOfOld?: Ratio & { all: number[] };
}

const HOURS_MS = 3_600_000;
const SETTLE_MS = 3000;
/** More jobs than are taken while it is measured. */
const OLD_JOBS = 100_000;

/** Jobs arrive by the public API, then the server is killed. So the data is what a crash leaves. */
export async function measureDeep(options: DeepOptions): Promise<DeepResult> {
  const { rows, deep, pace, say, databases } = options;
  const on = databases ? "PostgreSQL" : "SQLite";
  const result: DeepResult = { on, depth: deep };
  await using data = await KeptData.create(pace.folder, databases);
  say(`a queue of ${deep} jobs on ${on}, filled ${options.fill === "http" ? "by /run" : "by the queue's own code"}`);
  const empty = await emptyBytes(data);
  if (options.fill === "http") result.bytesPerJob = await fill(data, deep, say);
  else await fillDirectly(data, deep);
  if (rows.has("10") || rows.has("11")) await recover(data, empty, result, options);
  result.bytesPerJob ??= result.bytesPerJobAfterRecovery;
  if (rows.has("9")) await compare(data, result, options);
  return result;
}

/** Creates the installation and its endpoint. Returns the server's memory with an empty queue. */
async function emptyBytes(data: KeptData): Promise<number> {
  await using running = await data.start();
  await pause(SETTLE_MS);
  return residentBytes([running.server.pid]);
}

const AT_ONCE = 1000;

async function fillDirectly(data: KeptData, count: number): Promise<void> {
  const endpoint = await onlyEndpoint(data);
  await using queue = await data.openQueue();
  const policy = {
    ttlMs: 24 * HOURS_MS,
    executionTimeoutMs: 300_000,
    retentionMs: 1_800_000,
    errorRetries: 0,
    lowPriority: false,
  };
  for (let made = 0; made < count; made += AT_ONCE) {
    const jobs = Array.from({ length: Math.min(AT_ONCE, count - made) }, () => {
      const createdAt = Date.now();
      return { id: jobId(createdAt, realRandom, { sync: false }), endpoint, policy, createdAt, body: BODY };
    });
    await queue.enqueue(jobs);
  }
}

async function onlyEndpoint(data: KeptData): Promise<string> {
  await using running = await data.start();
  return running.submit.path.split("/")[2]!;
}

/** Returns how many bytes of memory each waiting job added. */
async function fill(data: KeptData, count: number, say: (line: string) => void): Promise<number> {
  await using running = await data.start();
  // The first thousand jobs warm up the server. They are part of the depth.
  const warm = Math.min(1000, count / 2);
  await submit(running, warm);
  await pause(SETTLE_MS);
  const before = residentBytes([running.server.pid]);
  const started = performance.now();
  await submit(running, count - warm);
  say(`  submitted at ${Math.round((count - warm) / ((performance.now() - started) / 1000))}/s`);
  await pause(SETTLE_MS);
  const after = residentBytes([running.server.pid]);
  say(`  memory: ${Math.round((after - before) / (count - warm))} bytes for each waiting job`);
  const { waiting } = await running.counts();
  if (waiting !== count) throw new Error(`${count} jobs were accepted, but ${waiting} wait`);
  await running.kill();
  return (after - before) / (count - warm);
}

async function submit(running: RunningMillrace, most: number): Promise<void> {
  const settings = { target: running.submit, connections: CONNECTIONS, warmupMs: 0, measureMs: HOURS_MS, most };
  await load(settings, running.pids);
}

/** Measures the server's own time, because a database that runs as a service of its own was not killed. */
async function recover(data: KeptData, empty: number, result: DeepResult, options: DeepOptions): Promise<void> {
  const { deep, say, fill } = options;
  // A queue that was filled without a server also needs a server that was killed on it.
  if (fill === "direct") await (await data.start()).kill();
  const started = performance.now();
  await using running = await data.start();
  result.recoveryWallSeconds = (performance.now() - started) / 1000;
  result.recoveryCpuSeconds = cpuSeconds([running.server.pid]);
  const { waiting } = await running.counts();
  if (waiting !== deep) throw new Error(`${deep} jobs were there before the kill, but ${waiting} came back`);
  await pause(SETTLE_MS);
  result.bytesPerJobAfterRecovery = (residentBytes([running.server.pid]) - empty) / deep;
  await running.kill();
  const { recoveryCpuSeconds, recoveryWallSeconds, bytesPerJobAfterRecovery } = result;
  say(`  recovery: ${recoveryCpuSeconds.toFixed(2)} s of CPU time, ${recoveryWallSeconds.toFixed(2)} s in all`);
  say(`  memory after it: ${Math.round(bytesPerJobAfterRecovery)} bytes for each waiting job`);
}

/**
 * Nearly all that is taken from the shallow queue was submitted a moment before, so SQLite has it in memory. What is taken from the deep
 * queue is older than the server. The queue of old jobs tells that apart from the depth.
 */
async function compare(data: KeptData, result: DeepResult, options: DeepOptions): Promise<void> {
  const { shallow, pace, say, databases } = options;
  await using shallowData = await KeptData.create(pace.folder, databases);
  await fill(shallowData, shallow, () => undefined);
  await using oldData = await KeptData.create(pace.folder, databases);
  await fillDirectly(oldData, Math.min(OLD_JOBS, options.deep));
  const submits: Ratio[] = [];
  const takes: Ratio[] = [];
  const takesOfOld: Ratio[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    const few = await bothRates(shallowData, pace);
    const many = await bothRates(data, pace);
    const old = await bothRates(oldData, pace);
    submits.push(ratio(many.submit, few.submit));
    takes.push(ratio(many.take, few.take));
    takesOfOld.push(ratio(many.take, old.take));
    const told = ({ submit, take }: typeof few) =>
      `/run ${Math.round(submit.rate)}/s, taken ${Math.round(take.rate)}/s`;
    say(
      `  round ${round}: ${shallow} deep: ${told(few)}; ${options.deep} deep: ${told(many)}; ${OLD_JOBS} old ones: ${told(old)}`,
    );
  }
  result.submitRatio = summary(submits);
  result.takeRatio = summary(takes);
  result.takeRatioOfOld = summary(takesOfOld);
}

interface Ratio {
  cpu: number;
  wall: number;
}

const ratio = (of: Measure, against: Measure): Ratio => ({
  cpu: of.perCpuSecond / against.perCpuSecond,
  wall: of.rate / against.rate,
});

const summary = (ratios: Ratio[]) => ({
  cpu: median(ratios.map(({ cpu }) => cpu)),
  wall: median(ratios.map(({ wall }) => wall)),
  all: ratios.map(({ cpu }) => cpu),
});

/** Measures /run while nobody takes, then takes while nobody submits, on a copy of the data. */
async function bothRates(kept: KeptData, pace: Pace): Promise<{ submit: Measure; take: Measure }> {
  await using data = await kept.copy();
  await using running = await data.start();
  const submitted = await submitOnly(running, pace);
  return { submit: submitted, take: await takeOnly(running, pace) };
}

/** Takes and finishes jobs until the time is up or the queue is empty. */
async function takeOnly(running: RunningMillrace, pace: Pace): Promise<Measure> {
  await running.startWorker("ours");
  const { completed: before } = await running.counts();
  const started = performance.now();
  const cpu = cpuSeconds(running.pids());
  for (;;) {
    await pause(50);
    const { completed, waiting, failed } = await running.counts();
    const seconds = (performance.now() - started) / 1000;
    if (failed > 0) throw new Error(`${failed} jobs failed`);
    if (waiting > 0 && seconds * 1000 < pace.measureMs) continue;
    return measureOf(completed - before, seconds, cpuSeconds(running.pids()) - cpu);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
