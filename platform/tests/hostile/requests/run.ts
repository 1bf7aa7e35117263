/** One run of generated requests on a server of its own, from its start to the report. */
import { stay } from "../../../src/kernel/clock.ts";
import { call } from "../../world.ts";
import { type Defect, Requests, type Tally } from "./campaign.ts";
import { losses } from "./ledger.ts";
import { Debugger, type Vitals } from "./memory.ts";
import type { Person } from "./population.ts";
import { type Size, sizeOf } from "./size.ts";
import { openWorld, type World } from "./world.ts";

export interface RunOptions {
  requests: number;
  /** Each seed gets its share of the requests. */
  seeds: readonly number[];
  databaseUrl?: string | undefined;
  together?: number;
  /** How long the server's memory may take to shrink again. */
  settleMs?: number;
  say?: (line: string) => void;
}

export interface Report {
  requests: number;
  seeds: readonly number[];
  seconds: number;
  outcomes: Record<string, number>;
  routes: number;
  slowestMs: number;
  slowest: string;
  before: Vitals;
  most: Size;
  after: Vitals;
  defects: Defect[];
}

/** This share of the requests is sent first, since only then the server has its lasting size. */
const WARM_UP = 0.05;
const REPORT_MS = 10_000;

export async function runRequests(options: RunOptions): Promise<Report> {
  const { requests, seeds, databaseUrl, together = 32, settleMs = 60_000, say } = options;
  await using world = await openWorld(databaseUrl);
  const { server, place, people } = world;
  const pid = server.process.pid!;
  const found = ({ what, example }: Defect) => say?.(`${what}\n${example}`);
  using sending = new Requests({ place, people, seeds, together, found });
  const began = performance.now();
  await sending.send(Math.ceil(requests * WARM_UP));
  using inside = await Debugger.open(server);
  const before = await inside.vitals();
  const most: Size = { rssMb: before.rssMb, descriptors: before.descriptors };
  const watch = setInterval(async () => {
    const now = await sizeOf(pid).catch(() => most);
    most.rssMb = Math.max(most.rssMb, now.rssMb);
    most.descriptors = Math.max(most.descriptors, now.descriptors);
    say?.(progress(sending.tally, now));
  }, REPORT_MS);
  try {
    await sending.send(requests - sending.tally.sent, () => hasEnded(world));
  } finally {
    clearInterval(watch);
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  const { sent, outcomes, byRoute, slowestMs, slowest, defects } = sending.tally;
  const all = [...defects.values(), ...(await leftBehind(world, sending.tally))];
  const after = hasEnded(world) ? before : await vitalsWhenSettled(inside, before, settleMs);
  all.push(...grown(before, after));
  const routes = Object.keys(byRoute).length;
  return { requests: sent, seeds, seconds, outcomes, routes, slowestMs, slowest, before, most, after, defects: all };
}

const hasEnded = ({ server }: World) => server.process.exitCode !== null || server.process.signalCode !== null;

const defect = (what: string, example = ""): Defect => ({ what, times: 1, example });

/** Checks what no single answer shows. */
async function leftBehind(world: World, { removed }: Tally): Promise<Defect[]> {
  const { server, place, people } = world;
  const faults = faultsIn(server.log()).map((line) => defect("the log holds a fault", line));
  if (hasEnded(world)) return [...faults, defect("the server ended", server.log().slice(-3000))];
  const lost = await Promise.all(people.map((person) => losses(place.url, person, removed.get(person)!)));
  for (const person of people) await clearAway(place.url, person);
  return [...faults, ...lost.flat().map((loss) => defect(`lost: ${loss}`))];
}

function grown(before: Vitals, after: Vitals): Defect[] {
  const found: Defect[] = [];
  for (const kind of ["rssMb", "heapMb", "externalMb"] as const)
    if (after[kind] > allowedMb(before[kind]))
      found.push(defect(`${kind} stays at ${after[kind]}, after ${before[kind]}`));
  if (after.descriptors > before.descriptors + SOME_DESCRIPTORS)
    found.push(defect(`descriptors stay at ${after.descriptors}, after ${before.descriptors}`));
  return found;
}

/** Connections to workers and to the database come and go. */
const SOME_DESCRIPTORS = 50;

/** Allows half as much again, plus what a runtime takes and returns at will. */
const allowedMb = (before: number) => before * 1.5 + 30;

const LOOK_MS = 1000;

async function vitalsWhenSettled(inside: Debugger, before: Vitals, withinMs: number): Promise<Vitals> {
  const until = performance.now() + withinMs;
  for (;;) {
    const now = await inside.vitals();
    if (grown(before, now).length === 0 || performance.now() > until) return now;
    await stay(LOOK_MS);
  }
}

/** Removes what the requests created, since the memory for it is no leak. */
async function clearAway(url: string, { owns, key, byHand }: Person): Promise<void> {
  for (const id of owns.endpoint) await call(url, "DELETE", `/v2/serverless/${id}`, { key });
  await call(url, "POST", `/v2/${byHand.endpoint}/purge-queue`, { key });
}

/** Log lines that only an internal fault writes, one for each place in the code. */
function faultsIn(log: string): string[] {
  const lines = log.split("\n").filter((line) => /unforeseen fault|[Uu]nhandled|"level":60|Warning:/.test(line));
  const placesOf = (line: string) => line.match(/platform\/src\/[\w/.-]+:\d+/g)?.join(" ") ?? line.slice(0, 200);
  return [...new Map(lines.map((line) => [placesOf(line), line])).values()].map((line) => line.slice(0, 1500));
}

function progress({ sent, outcomes, defects }: Tally, { rssMb, descriptors }: Size): string {
  const shown = Object.entries(outcomes)
    .map(([key, count]) => `${key}: ${count}`)
    .join(", ");
  return `${sent} requests, ${defects.size} defects, ${rssMb} MB, ${descriptors} descriptors; ${shown}`;
}
