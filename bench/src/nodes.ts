/** What a job costs when several nodes share one PostgreSQL, compared with one node: submit to result, each node with its own worker. */
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { apiKeyText } from "../../platform/src/kernel/ids.ts";
import { realRandom } from "../../platform/src/kernel/random.ts";
import { median } from "./figures.ts";
import { type RunningMillrace, startMillrace } from "./millrace.ts";
import { CONNECTIONS, drained, load, type Measure, measureOf, type Pace } from "./phases.ts";
import type { Database, Databases } from "./postgres.ts";
import { cpuSeconds } from "./process-tree.ts";
import { type Line, spread } from "./table.ts";

const COUNTS = [1, 2, 4] as const;
const WARM_UP_MS = 5000;

export interface NodesResult {
  /** The measures of each round, by how many nodes there were. */
  rounds: Record<number, Measure>[];
}

interface Options {
  rounds: number;
  pace: Pace;
  databases: Databases;
  say: (line: string) => void;
}

export async function measureNodes({ rounds, pace, databases, say }: Options): Promise<NodesResult> {
  const result: NodesResult = { rounds: [] };
  for (let round = 1; round <= rounds; round++) {
    const measured: Record<number, Measure> = {};
    for (const count of COUNTS) measured[count] = await measureCount(count, pace, databases);
    result.rounds.push(measured);
    const told = COUNTS.map(
      (count) => `${count}: ${costOf(measured[count]!).toFixed(0)} µs, ${Math.round(measured[count]!.rate)}/s`,
    );
    say(`  round ${round}, CPU time of a job and jobs a second by nodes: ${told.join("; ")}`);
  }
  return result;
}

async function measureCount(count: number, pace: Pace, databases: Databases): Promise<Measure> {
  const folder = await mkdtemp(join(pace.folder, "nodes-"));
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const database = opened.use(await databases.fresh());
  const nodes: RunningMillrace[] = [];
  const keys = {
    MILLRACE_API_KEY: apiKeyText(realRandom),
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  };
  for (let i = 0; i < count; i++) {
    const node = await startMillrace(join(folder, String(i)), { database, env: keys });
    nodes.push(opened.use(node));
  }
  for (const node of nodes) await node.startWorker("ours");
  return await together(nodes, database, pace);
}

/** Submits to all nodes at once, with as many connections in all as to a single one, and counts until no job waits. */
async function together(nodes: RunningMillrace[], database: Database, pace: Pace): Promise<Measure> {
  const own = nodes.flatMap((node) => node.pids());
  const pids = () => [...new Set([...own, ...database.pids])];
  const begun = { at: 0, cpu: 0, completed: 0 };
  const begin = async () => {
    begun.completed = (await nodes[0]!.counts()).completed;
    begun.at = performance.now();
    begun.cpu = cpuSeconds(pids());
  };
  const connections = CONNECTIONS / nodes.length;
  // Each node compiles its code first, and more nodes need more time for it.
  const warmupMs = WARM_UP_MS * nodes.length;
  const reports = await Promise.all(
    nodes.map(({ submit }, place) =>
      load({ target: submit, connections, ...pace, warmupMs }, pids, place === 0 ? begin : undefined),
    ),
  );
  const accepted = reports.reduce((sum, { report }) => sum + report.accepted, 0);
  const { completed } = await drained(nodes[0]!, accepted);
  const seconds = (performance.now() - begun.at) / 1000;
  return measureOf(completed - begun.completed, seconds, cpuSeconds(pids()) - begun.cpu);
}

/** Microseconds of CPU time for each job. */
const costOf = ({ perCpuSecond }: Measure) => 1e6 / perCpuSecond;

export const nodeLines = ({ rounds }: NodesResult): Line[] =>
  COUNTS.filter((count) => count > 1).map((count) => {
    const times = rounds.map((round) => costOf(round[count]!) / costOf(round[1]!));
    const rates = rounds.map((round) => round[count]!.rate / round[1]!.rate);
    return {
      row: "nodes",
      name: `CPU time of a job with ${count} nodes on one PostgreSQL, against one node`,
      measured: spread(times),
      wall: `${median(rates).toFixed(2)} of the rate`,
      atLeast: "",
      aim: "",
      verdict: "",
    };
  });
