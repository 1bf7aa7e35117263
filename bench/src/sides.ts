/** A server of the job path, or echo, that stays up and is loaded in slices. */
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { type BalancedName, type BalancedOptions, balancedStack } from "./balanced.ts";
import { freePort, startProgram } from "./child.ts";
import { startMillrace } from "./millrace.ts";
import { CONNECTIONS } from "./phases.ts";
import type { Databases } from "./postgres.ts";
import { childrenOf, cpuNanoseconds, threadNanoseconds } from "./process-tree.ts";
import { SlicedLoad } from "./sliced-load.ts";
import type { Running, WorkerKind } from "./stack.ts";

interface Asked {
  name: string;
  target: "submit" | "runsync";
  worker?: WorkerKind;
  /** A slice ends when everything that it submitted has ended. */
  drains?: boolean;
}

/** What the rows of the job path request from a server. */
const ROWS = {
  "1": { name: "/run", target: "submit" },
  "2": { name: "submit to result", target: "submit", worker: "ours", drains: true },
  "3": { name: "runsync", target: "runsync", worker: "ours" },
  "3b": { name: "one job per take", target: "submit", worker: "single", drains: true },
} satisfies Record<string, Asked>;

type JobRow = keyof typeof ROWS;
export type SideRow = JobRow | "13";
export const SIDE_ROWS = ["1", "2", "3", "3b", "13"] as const satisfies readonly SideRow[];
export const sideName = (row: SideRow) => (row === "13" ? "proxied request" : ROWS[row].name);

/** Microseconds of CPU time per request. */
export interface Cost {
  /** The server, its worker and its database together. */
  all: number;
  /** The server's thread that answers requests. */
  main: number;
}

export interface Side extends AsyncDisposable {
  /** The server process alone. */
  pid: number;
  /** Sends this many requests. */
  slice(count: number): Promise<Cost>;
}

export interface SideOptions {
  folder: string;
  root?: string | undefined;
  databases?: Databases | undefined;
  nodeOptions?: string | undefined;
  fromSource?: boolean;
}

export const openSide = (row: SideRow, options: SideOptions): Promise<Side> =>
  row === "13" ? balancedSide("lb-millrace", options) : jobSide(row, options);

/** What a row is compared with: nginx for the proxy, and echo for all others. */
export const standardOf = (row: SideRow): string => (row === "13" ? "nginx" : "echo");
export const openStandard = (row: SideRow, { folder }: SideOptions): Promise<Side> =>
  row === "13" ? balancedSide("lb-nginx", { folder }) : echoSide();

async function balancedSide(name: BalancedName, { folder, ...options }: SideOptions & BalancedOptions): Promise<Side> {
  const running = await balancedStack(name, options).start(await mkdtemp(join(folder, "side-")));
  const load = await SlicedLoad.open(running.submit);
  await load.run(CONNECTIONS);
  // nginx answers requests in a process that it starts.
  const pids = running.pids().flatMap((pid) => [pid, ...childrenOf(pid)]);
  return {
    pid: pids[0]!,
    slice: (count) => measured(pids, count, () => load.run(count)),
    async [Symbol.asyncDispose]() {
      load.close();
      await running[Symbol.asyncDispose]();
    },
  };
}

async function jobSide(row: JobRow, options: SideOptions): Promise<Side> {
  const { target, worker, drains = false }: Asked = ROWS[row];
  const { folder, root, databases, nodeOptions, fromSource = false } = options;
  const data = await mkdtemp(join(folder, "side-"));
  const given = { ...(databases ? { databases } : {}), ...(nodeOptions ? { nodeOptions } : {}) };
  const running = await startMillrace(data, { root, fromSource, ...given });
  if (worker) await running.startWorker(worker);
  const load = await SlicedLoad.open(running[target]);
  // A server soon closes a connection on which nothing came, and the other side may take long to start.
  await load.run(CONNECTIONS);
  // PostgreSQL works in processes that it starts, one for each connection.
  const pids = () => running.pids().flatMap((pid) => (databases ? [pid, ...childrenOf(pid)] : [pid]));
  return {
    pid: running.server.pid,
    slice: (count) =>
      measured(pids(), count, async () => {
        await load.run(count);
        if (drains) await drained(running);
      }),
    async [Symbol.asyncDispose]() {
      load.close();
      await running[Symbol.asyncDispose]();
    },
  };
}

export async function echoSide(nodeOptions: string[] = []): Promise<Side> {
  const port = await freePort();
  const echo = await startProgram("echo.ts", { port }, nodeOptions);
  const load = await SlicedLoad.open({ port, path: "/echo", headers: { authorization: `Bearer ${"x".repeat(47)}` } });
  return {
    pid: echo.pid,
    slice: (count) => measured([echo.pid], count, () => load.run(count)),
    async [Symbol.asyncDispose]() {
      load.close();
      await echo[Symbol.asyncDispose]();
    },
  };
}

/** The first process is the server. */
async function measured(pids: readonly number[], count: number, work: () => Promise<void>): Promise<Cost> {
  const [before, mainBefore] = [pids.map(cpuOf), threadNanoseconds(pids[0]!, pids[0]!)];
  await work();
  const main = threadNanoseconds(pids[0]!, pids[0]!) - mainBefore;
  const all = pids.reduce((sum, pid, i) => sum + Math.max(0, cpuOf(pid) - before[i]!), 0);
  return { all: all / 1000 / count, main: main / 1000 / count };
}

/** A process of PostgreSQL that has ended meanwhile, such as one that vacuums, counts for nothing. */
function cpuOf(pid: number): number {
  try {
    return cpuNanoseconds([pid]);
  } catch {
    return 0;
  }
}

async function drained(running: Running): Promise<void> {
  for (;;) {
    const { waiting, failed } = await running.counts();
    if (failed > 0) throw new Error(`${failed} jobs failed`);
    if (waiting === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
