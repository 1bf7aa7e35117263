/** Where the time of a request goes: functions, allocations and system calls for each row of the job path, compared with echo. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { freePort } from "./child.ts";
import { type CpuProfile, type HeapNode, Inspector, type ProfileNode } from "./inspector.ts";
import type { Databases } from "./postgres.ts";
import { echoSide, openSide, SIDE_ROWS, type Side, sideName } from "./sides.ts";

/** The number of requests before anything counts, and while the process is observed. */
const WARM_UP = 30_000;
const PROFILED = 20_000;
const TRACED = 3000;
/** Functions with a smaller share than this are shown as one line. */
const LEAST_SHARE = 0.01;

export interface BudgetParts {
  rows: ReadonlySet<string>;
  folder: string;
  /** With these, the queue is in PostgreSQL. */
  databases?: Databases | undefined;
  say: (line: string) => void;
}

export async function measureBudget({ rows, folder, say, databases }: BudgetParts): Promise<void> {
  const echoPort = await freePort();
  await report("echo", await echoSide([`--inspect=127.0.0.1:${echoPort}`]), echoPort, say);
  for (const row of SIDE_ROWS) {
    if (!rows.has(row)) continue;
    const port = await freePort();
    const side = await openSide(row, {
      folder,
      databases,
      nodeOptions: `--inspect=127.0.0.1:${port}`,
      fromSource: true,
    });
    await report(sideName(row), side, port, say);
  }
}

async function report(name: string, opened: Side, port: number, say: (line: string) => void): Promise<void> {
  await using side = opened;
  using inspector = await Inspector.open(port);
  await side.slice(WARM_UP);
  const { all, main } = await side.slice(PROFILED);
  const load = async () => {
    await side.slice(PROFILED);
  };
  const profile = await inspector.cpuProfile(load);
  say(`\n### ${name}\n`);
  say(`${all.toFixed(1)} µs of CPU for each, with workers; ${main.toFixed(1)} of them in the server's main thread:\n`);
  sayTable(shares(spentIn(profile), main, "µs"), say);
  const heap = await inspector.allocations(load);
  say("");
  const allocated = allocatedIn(heap);
  sayTable(shares(allocated, sumOf(allocated) / PROFILED, "bytes"), say);
  const calls = await systemCalls(side, TRACED);
  say("");
  sayTable(calls, say);
}

interface Row {
  what: string;
  each: string;
  share: string;
}

function sayTable(rows: Row[], say: (line: string) => void): void {
  say("| What | For each | Share |");
  say("|---|---|---|");
  for (const { what, each, share } of rows) say(`| ${what} | ${each} | ${share} |`);
}

const sumOf = (amounts: Map<string, number>) => [...amounts.values()].reduce((a, b) => a + b, 0);

/** Splits the cost of one request by share. */
function shares(amounts: Map<string, number>, all: number, unit: string): Row[] {
  const sum = sumOf(amounts);
  const sorted = [...amounts].sort(([, a], [, b]) => b - a);
  const line = (what: string, amount: number): Row => ({
    what,
    each: `${((amount / sum) * all).toFixed(unit === "µs" ? 2 : 0)} ${unit}`,
    share: `${((100 * amount) / sum).toFixed(1)}%`,
  });
  const small = sorted.filter(([, amount]) => amount < sum * LEAST_SHARE);
  const rest = small.reduce((total, [, amount]) => total + amount, 0);
  const large = sorted.filter(([, amount]) => amount >= sum * LEAST_SHARE);
  return [
    line("**all**", sum),
    ...large.map(([what, amount]) => line(what, amount)),
    line(`${small.length} others`, rest),
  ];
}

/**
 * A sample counts for the nearest function of ours on its stack, including the Node code it calls. Without one, it counts for a part of
 * Node.
 */
function spentIn({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const names = new Map<number, string>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const walk = (node: ProfileNode, above: string | undefined) => {
    const own = nameOf(node.callFrame) ?? above;
    names.set(node.id, own ?? nodePart(node.callFrame));
    for (const child of node.children ?? []) walk(byId.get(child)!, own);
  };
  walk(nodes[0]!, undefined);
  const spent = new Map<string, number>();
  for (const [i, sample] of samples.entries()) {
    const { functionName } = byId.get(sample)!.callFrame;
    if (functionName === "(idle)") continue;
    const name = functionName.startsWith("(") ? functionName : names.get(sample)!;
    spent.set(name, (spent.get(name) ?? 0) + timeDeltas[i]!);
  }
  return spent;
}

function allocatedIn(head: HeapNode): Map<string, number> {
  const allocated = new Map<string, number>();
  const walk = (node: HeapNode, above: string | undefined) => {
    const own = nameOf(node.callFrame) ?? above;
    const name = own ?? nodePart(node.callFrame);
    if (node.selfSize > 0) allocated.set(name, (allocated.get(name) ?? 0) + node.selfSize);
    for (const child of node.children) walk(child, own);
  };
  walk(head, undefined);
  return allocated;
}

/** Names code of ours or of a package, such as `surfaces/http/reply.ts send`. */
function nameOf({ url, functionName, lineNumber }: ProfileNode["callFrame"]): string | undefined {
  const place = /\/(?:platform\/src|node_modules)\/(.*)$/.exec(url)?.[1];
  if (place === undefined) return url.startsWith("file:") ? `${url.split("/").at(-1)}:${lineNumber + 1}` : undefined;
  return `\`${place}\` ${functionName || `line ${lineNumber + 1}`}`;
}

const nodePart = ({ url, functionName }: ProfileNode["callFrame"]) =>
  url.startsWith("node:") ? `Node: ${url.slice(5)}` : `Node: ${functionName || "native"}`;

/** The system calls of all threads of the server. Empty if strace is not available. */
async function systemCalls(side: Side, count: number): Promise<Row[]> {
  const strace = spawn("strace", ["-c", "-f", "-p", String(side.pid)], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  strace.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = once(strace, "exit").catch(() => undefined);
  await Promise.race([once(strace.stderr, "data"), ended]);
  await side.slice(count);
  strace.kill("SIGINT");
  await ended;
  const rows: Row[] = [];
  for (const line of said.split("\n")) {
    const [share, , , calls, ...rest] = line.trim().split(/\s+/);
    const name = rest.at(-1);
    if (!/^[\d.]+$/.test(share ?? "") || !name || !(Number(calls) / count > 0.005)) continue;
    if (name === "total") continue;
    rows.push({ what: `\`${name}\``, each: `${(Number(calls) / count).toFixed(2)} calls`, share: `${share}%` });
  }
  return rows;
}
