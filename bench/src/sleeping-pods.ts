/** Row 19: many Pods on the host that only sleep: how fast they come up, what they cost while they sleep, and what disk each takes. */
import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as stay } from "node:timers/promises";
import { startMillrace } from "./millrace.ts";
import { cpuSeconds } from "./process-tree.ts";
import { amount, type Line } from "./table.ts";

const PODS = 500;
const FEW_PODS = 20;
const AT_ONCE = 8;
const LOOK_MS = 250;
const START_LIMIT_MS = 300_000;
/** By then what follows the last start is done. */
const SETTLE_MS = 20_000;
const MEASURED_MS = 40_000;
const KB = 1024;

export interface SleepingPods {
  pods: number;
  /** From the first request until all run. */
  startedPerSecond: number;
  /** Shares of a core: with no Pod, and with all asleep. */
  restingShare: number;
  sleepingShare: number;
  diskBytesEach: number;
}

interface Options {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}

interface PodList {
  pods: { id: string; status: string }[];
}

export async function measureSleepingPods({ folder, quick, say }: Options): Promise<SleepingPods> {
  const app = await mkdtemp(join(folder, "sleeping-"));
  const data = await mkdtemp(join(folder, "sleeping-data-"));
  try {
    // Programs run as other users and must be able to open the folder.
    await chmod(app, 0o755);
    await using running = await startMillrace(data, { compute: "host" });
    const { port, headers } = running.submit;
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { ...headers, "content-type": "application/json" },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.status === 204 ? undefined : await answer.json();
    };
    const share = () => shareOf([running.server.pid]);
    await stay(SETTLE_MS);
    const restingShare = await share();
    const diskBefore = diskBytes(data);
    const pods = quick ? FEW_PODS : PODS;
    const startedPerSecond = await startAll(pods, app, ask);
    await stay(SETTLE_MS);
    const diskBytesEach = (diskBytes(data) - diskBefore) / pods;
    const sleepingShare = await share();
    await removeAll(pods, ask);
    const result = { pods, startedPerSecond, restingShare, sleepingShare, diskBytesEach };
    say(
      `  ${pods} Pods that sleep: ${startedPerSecond.toFixed(1)} came up a second; ${percent(sleepingShare)} of a core, ` +
        `without Pods ${percent(restingShare)}; ${Math.round(diskBytesEach / KB)} KB of disk each`,
    );
    return result;
  } finally {
    for (const path of [app, data]) await rm(path, { recursive: true, force: true });
  }
}

type Ask = (method: string, path: string, body?: object) => Promise<unknown>;

async function startAll(pods: number, app: string, ask: Ask): Promise<number> {
  const began = performance.now();
  const body = { image: `host:${app}`, cmd: ["sleep", "3600"], cpu: { id: "cpu3c", vcpuCount: 2 } };
  await each(pods, (place) => ask("POST", "/v2/pods", { ...body, name: `p${place}` }));
  for (;;) {
    const { pods: all } = (await ask("GET", `/v2/pods?limit=${pods}`)) as PodList;
    const seconds = (performance.now() - began) / 1000;
    const up = all.filter(({ status }) => status === "RUNNING").length;
    if (up === pods) return pods / seconds;
    if (seconds * 1000 > START_LIMIT_MS) throw new Error(`only ${up} of ${pods} Pods run after ${seconds} s`);
    await stay(LOOK_MS);
  }
}

/** A Pod outlives its server, so each is deleted. */
async function removeAll(pods: number, ask: Ask): Promise<void> {
  const { pods: all } = (await ask("GET", `/v2/pods?limit=${pods}`)) as PodList;
  await each(all.length, (place) => ask("DELETE", `/v2/pods/${all[place]!.id}`));
  const until = performance.now() + START_LIMIT_MS;
  while (performance.now() < until) {
    if (((await ask("GET", "/v2/pods?limit=1")) as PodList).pods.length === 0) return;
    await stay(LOOK_MS);
  }
  throw new Error("the Pods are not gone");
}

/** Runs a task for each number, a few at a time. */
async function each(count: number, task: (place: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const run = async () => {
    while (next < count) await task(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}

async function shareOf(pids: readonly number[]): Promise<number> {
  const [before, began] = [cpuSeconds(pids), performance.now()];
  await stay(MEASURED_MS);
  return (cpuSeconds(pids) - before) / ((performance.now() - began) / 1000);
}

/** What the files take on the disk, and not how long they are. Mounted disks are counted by their own files. */
function diskBytes(folder: string): number {
  const printed = execFileSync("du", ["--summarize", "--one-file-system", "--block-size=1", folder]).toString();
  return Number(printed.split("\t")[0]);
}

const percent = (share: number) => `${(share * 100).toFixed(1)}%`;

export const sleepingLines = ({ pods, startedPerSecond, sleepingShare, diskBytesEach }: SleepingPods): Line[] => [
  {
    ...amount("19", `share of a core with ${pods} sleeping Pods`, sleepingShare * 100, "%", 5, 2),
    wall: `${startedPerSecond.toFixed(1)} came up a second`,
  },
  amount("19", `disk of each of ${pods} sleeping Pods`, diskBytesEach / KB / KB, "MiB", 4, 1),
];
