/** The bench: measures Millrace and its peers side by side, checks that nothing was lost, and prints the table. */
import { rmSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { measureAgainst } from "./against.ts";
import { balancedStack } from "./balanced.ts";
import { measureBudget } from "./budget.ts";
import {
  bestOf,
  type Checked,
  checkedFigures,
  compare,
  isChecked,
  printedCheck,
  readKept,
  writeKept,
} from "./check.ts";
import { measureChurn } from "./churn.ts";
import { cliLines, measureCli } from "./cli-verb.ts";
import { type DeepResult, measureDeep } from "./deep.ts";
import { faceLines, measureFaces } from "./faces.ts";
import { type Figure, figures, type Source, type StackName } from "./figures.ts";
import { type Flags, HELP, readFlags } from "./flags.ts";
import { describeMachine, flushLatency, refuseMemoryDisk } from "./machine.ts";
import { buildMillrace, millraceStack } from "./millrace.ts";
import { measureNodes, nodeLines } from "./nodes.ts";
import type { Pace } from "./phases.ts";
import { podStack } from "./pod-proxy.ts";
import { measurePodStarts, podLines } from "./pods.ts";
import { type Databases, givenPostgres, ownPostgres } from "./postgres.ts";
import { measureResting, restingLines } from "./resting.ts";
import { type Rounds, runRounds } from "./rounds.ts";
import { measureServer, serverLines } from "./server-start.ts";
import { measureSleepingPods, sleepingLines } from "./sleeping-pods.ts";
import type { Stack } from "./stack.ts";
import { measureStarts, startLines } from "./starts.ts";
import { deepLines, figureLine, type Line, printed } from "./table.ts";

const results = fileURLToPath(new URL("../results", import.meta.url));
const say = (line: string) => console.log(line);
const none: Rounds = { all: [], byCpu: [], byWall: [] };

const flags = readFlags(process.argv.slice(2));
if (flags === "help") console.log(HELP);
else await bench(flags);

async function bench(flags: Flags): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(resolve(flags.folder), "millrace-bench-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  // PostgreSQL does not run as root and must be able to enter the folder.
  await chmod(folder, 0o711);
  const pace: Pace = { folder, warmupMs: 1000, measureMs: flags.seconds * 1000 };
  // A comparison of two checkouts or a budget claims no durability, and a shared disk would disturb it. So a disk in memory is allowed.
  if (!flags.against && !flags.budget) refuseMemoryDisk(folder);
  const machine = describeMachine();
  const flushMs = flushLatency(folder);
  say(`flush of the data folder: median ${flushMs.median.toFixed(2)} ms, longest ${flushMs.max.toFixed(2)} ms`);
  say(
    `${machine.cores} cores (${machine.cpu}), Node ${machine.node}, commit ${machine.commit}, load before ${machine.loadBefore}`,
  );
  say("the load generator runs on the same cores; ratios inside a round are what counts");

  const postgres = lazyPostgres(flags, folder, opened);
  const databases = (flags.against || flags.budget) && flags.rows.has("pg") ? await postgres() : undefined;
  await buildMillrace(folder);
  if (flags.against) {
    await buildMillrace(folder, resolve(flags.against));
    const { against: other, rows, slices } = flags;
    say(printed(await measureAgainst({ other: resolve(other), rows, slices, folder, databases, say })));
    return;
  }
  if (flags.budget) return await measureBudget({ rows: flags.rows, folder, databases, say });
  const wanted = figures.filter((figure) => flags.rows.has(figure.row) && (!flags.check || isChecked(figure)));
  const stacks = await openStacks(wanted, flags, postgres);
  for (const stack of Object.values(stacks)) for (const note of stack.notes) say(note);
  const rounds =
    wanted.length > 0 ? await runRounds(sourcesOf(wanted), stacks, { rounds: flags.rounds, pace, say }) : none;
  const lines = wanted.map((figure) => figureLine(figure, rounds));
  const deep = await deepRows(flags, pace, postgres);
  lines.push(...deep.flatMap(deepLines));
  const starts = flags.rows.has("14") ? await measureStarts({ folder, quick: flags.quick, say }) : undefined;
  if (starts) lines.push(...startLines(starts));
  const server = flags.rows.has("15") ? await measureServer({ folder, quick: flags.quick, say }) : undefined;
  if (server) lines.push(...serverLines(server));
  const pods = flags.rows.has("16") ? await measurePodStarts({ folder, quick: flags.quick, say }) : undefined;
  if (pods) lines.push(...podLines(pods));
  const faces = flags.rows.has("18") ? await measureFaces({ folder, quick: flags.quick, say }) : undefined;
  if (faces) lines.push(...faceLines(faces));
  const resting = flags.rows.has("19") ? await measureResting({ folder, quick: flags.quick, say }) : undefined;
  if (resting) lines.push(...restingLines(resting));
  const sleeping = flags.rows.has("19") ? await measureSleepingPods({ folder, quick: flags.quick, say }) : undefined;
  if (sleeping) lines.push(...sleepingLines(sleeping));
  const cli = flags.rows.has("20") ? await measureCli({ folder, quick: flags.quick, say }) : undefined;
  if (cli) lines.push(...cliLines(cli));
  const nodes = flags.rows.has("nodes")
    ? await measureNodes({ rounds: flags.rounds, pace, databases: await postgres(), say })
    : undefined;
  if (nodes) lines.push(...nodeLines(nodes));
  const churn = flags.rows.has("churn")
    ? await measureChurn(millraceStack(), { minutes: flags.minutes, pace, say })
    : undefined;

  report(lines, rounds);
  if (flags.check) await check(checkedFigures(wanted, rounds, server!), flags.keep);
  const settings = { ...flags, rows: [...flags.rows], notes: Object.values(stacks).flatMap(({ notes }) => notes) };
  await keep({
    at: new Date().toISOString(),
    machine,
    flushMs,
    settings,
    lines,
    rounds,
    deep,
    starts,
    server,
    pods,
    faces,
    resting,
    sleeping,
    cli,
    nodes,
    churn,
  });
}

/** The phases that the figures need, each once and in a fixed order. */
function sourcesOf(wanted: Figure[]): Source[] {
  return [...new Set(wanted.flatMap(({ of, against }) => [of, against]))].filter((source) => source !== "echo");
}

type LazyPostgres = () => Promise<Databases>;

/** PostgreSQL is started when the first row needs it. */
function lazyPostgres({ postgres }: Flags, folder: string, opened: AsyncDisposableStack): LazyPostgres {
  let databases: Databases | undefined;
  return async () => {
    if (databases) return databases;
    databases = opened.use(postgres ? await givenPostgres(postgres) : await ownPostgres(folder));
    say(databases.notes);
    return databases;
  };
}

async function openStacks(
  wanted: Figure[],
  flags: Flags,
  postgres: LazyPostgres,
): Promise<Partial<Record<StackName, Stack>>> {
  const names = new Set(sourcesOf(wanted).map((source) => source.split("/")[0] as StackName));
  const stacks: Partial<Record<StackName, Stack>> = {};
  const nodeOptions = flags.profile && `--cpu-prof --cpu-prof-dir=${resolve(flags.profile)}`;
  if (names.has("sqlite")) stacks.sqlite = millraceStack({ nodeOptions });
  if (names.has("postgres")) stacks.postgres = millraceStack({ nodeOptions, databases: await postgres() });
  for (const name of ["lb-millrace", "lb-nginx", "lb-direct"] as const)
    if (names.has(name)) stacks[name] = balancedStack(name, { nodeOptions });
  if (names.has("pod-proxy")) stacks["pod-proxy"] = podStack({ nodeOptions });
  const peers = [...names].filter((name) => stacks[name] === undefined);
  if (peers.length > 0) {
    const { peerStack } = await import("./peers.ts");
    for (const name of peers) stacks[name] = await peerStack(name, { postgres });
  }
  return stacks;
}

/** Rows 9, 10 and 11 on SQLite, and also on PostgreSQL if `pg` is requested. */
async function deepRows(
  { rows, rounds, deep, fill }: Flags,
  pace: Pace,
  postgres: LazyPostgres,
): Promise<DeepResult[]> {
  if (!["9", "10", "11"].some((row) => rows.has(row))) return [];
  const shallow = Math.min(1000, deep / 10);
  const measured: DeepResult[] = [];
  for (const databases of [undefined, ...(rows.has("pg") ? [await postgres()] : [])])
    measured.push(await measureDeep({ rows, rounds, deep, fill, shallow, pace, say, databases }));
  for (const result of measured) {
    if (!rows.has("10")) delete result.bytesPerJob;
    if (!rows.has("11")) delete result.recoveryCpuSeconds;
  }
  return measured;
}

/** The command fails if a figure is far below the best one kept. */
async function check(checked: Checked[], keeps: boolean): Promise<void> {
  const { arch } = process;
  const kept = await readKept(arch);
  const compared = compare(checked, kept);
  say(`\nagainst the best kept for ${arch}`);
  say(printedCheck(compared));
  if (keeps) say(`kept in ${await writeKept(arch, bestOf(compared, kept))}`);
  if (compared.some(({ verdict }) => verdict === "failed")) process.exitCode = 1;
}

function report(lines: Line[], { all, byCpu, byWall }: Rounds): void {
  say("");
  say(`${all.length} rounds; echo was steady in ${byCpu.length} by CPU time and in ${byWall.length} by the wall clock`);
  say(printed(lines));
}

async function keep(result: { at: string } & Record<string, unknown>): Promise<void> {
  await mkdir(results, { recursive: true });
  const file = join(results, `${result.at.replaceAll(":", "-")}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  say(`\nkept in ${file}`);
}
