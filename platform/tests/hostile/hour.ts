/** All scenes over and over, several at a time, beside a witness and generated requests: `npm run hostile -- --minutes 60`. */
import { mkdir, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stay, timestamp } from "../../src/kernel/clock.ts";
import { realRandom, SeededRandom } from "../../src/kernel/random.ts";
import { noiseOf } from "./noise.ts";
import { type Size, sizeOf } from "./requests/size.ts";
import { allScenes } from "./scenes.ts";
import { openStage, type Scene, type Stage } from "./stage.ts";
import { percentile, type Seen, type Testimony, worstRatio } from "./witness.ts";

const RESULTS = fileURLToPath(new URL("../../../bench/results/", import.meta.url));
const RATIO = 3;
const IDLE_MS = 10_000;
const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    together: { type: "string", default: "3" },
    seed: { type: "string" },
    /** Only scenes whose names hold this. */
    scenes: { type: "string", default: "" },
    quiet: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
const minutes = Number(values.minutes);

interface Played {
  times: number;
  failed: number;
  /** What the last one that failed said. */
  said?: string;
}

/** Plays scenes until it is over, each list of them in an order of its own, so that every two come to be together. */
async function play(
  stage: Stage,
  scenes: Scene[],
  played: Map<string, Played>,
  chance: SeededRandom,
  isOver: () => boolean,
) {
  while (!isOver()) {
    for (const scene of shuffled(scenes, chance)) {
      if (isOver()) return;
      const count = played.get(scene.name)!;
      count.times++;
      await scene.attack(stage).catch((error: Error) => {
        count.failed++;
        count.said = error.message.slice(0, 300);
      });
    }
  }
}

function shuffled<T>(items: readonly T[], chance: SeededRandom): T[] {
  const keyed = items.map((item) => ({ item, key: chance.fraction() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item);
}

function merge(all: Testimony, more: Testimony): void {
  all.requests += more.requests;
  all.failures.push(...more.failures);
  for (const [kind, took] of more.seen) all.seen.set(kind, (all.seen.get(kind) ?? []).concat(took));
}

interface Times {
  kind: string;
  idle: { p50: number; p99: number };
  attacked: { p50: number; p99: number };
  ratio: number;
}

function timesOf(idle: Seen, attacked: Seen): Times[] {
  const both = (took: number[]) => ({ p50: percentile(took, 0.5), p99: percentile(took, 0.99) });
  return [...attacked].map(([kind, took]) => {
    const [before, during] = [both(idle.get(kind)!), both(took)];
    return { kind, idle: before, attacked: during, ratio: during.p99 / before.p99 };
  });
}

const shown = ({ p50, p99 }: Times["idle"]) => `${p50.toFixed(1)}/${p99.toFixed(1)} ms`;

function say(minute: number, times: Times[], testimony: Testimony, { rssMb, descriptors }: Size): void {
  console.log(
    `minute ${minute}: ${testimony.requests} requests of the witness, ${testimony.failures.length} failures, ` +
      `${rssMb} MB, ${descriptors} descriptors, load ${loadavg()[0]!.toFixed(1)}`,
  );
  for (const { kind, idle, attacked, ratio } of times)
    console.log(`  ${kind}: p50/p99 ${shown(idle)} idle, ${shown(attacked)} attacked, ratio ${ratio.toFixed(2)}`);
  for (const failure of testimony.failures.slice(0, 5)) console.log(`  FAILED ${failure}`);
}

async function hour(): Promise<boolean> {
  const scenes = (await allScenes()).filter(({ name }) => name.includes(values.scenes));
  console.log(`${scenes.length} scenes, ${values.together} together, for ${minutes} minutes, --seed ${seed}`);
  await using stage = await openStage();
  const pid = stage.server.process.pid!;
  const idle = await stage.witness.watch(stay(IDLE_MS));
  const before = await sizeOf(pid);
  const endsAt = performance.now() + minutes * MINUTE_MS;
  const hasEnded = () => stage.server.process.exitCode !== null || stage.server.process.signalCode !== null;
  const isOver = () => hasEnded() || performance.now() > endsAt;
  const played = new Map<string, Played>(scenes.map(({ name }) => [name, { times: 0, failed: 0 }]));
  using noise = await noiseOf(stage, seed);
  const attacks = Array.from({ length: Number(values.together) }, (_, i) =>
    play(stage, scenes, played, new SeededRandom(seed + i), isOver),
  );
  if (!values.quiet) attacks.push(noise.send(Number.POSITIVE_INFINITY, isOver));
  const all: Testimony = { requests: 0, failures: [], seen: new Map() };
  for (let minute = 1; !isOver(); minute++) {
    const left = Math.min(MINUTE_MS, endsAt - performance.now());
    const testimony = await stage.witness.watch(stay(Math.max(0, left)), 1);
    merge(all, testimony);
    if (!hasEnded()) say(minute, timesOf(idle.seen, testimony.seen), testimony, await sizeOf(pid));
  }
  await Promise.all(attacks);
  const after = hasEnded() ? undefined : await sizeOf(pid);
  const times = timesOf(idle.seen, all.seen);
  const worst = worstRatio(idle, all);
  const defects = [...noise.tally.defects.values()];
  console.log(`\n${[...played.values()].reduce((sum, { times }) => sum + times, 0)} scenes played:`);
  for (const [name, { times, failed, said }] of played)
    console.log(`  ${times} times, ${failed} answered wrongly: ${name}${said ? ` (${said})` : ""}`);
  console.log(`${noise.tally.sent} generated requests, ${defects.length} defects`);
  for (const { what, times, example } of defects) console.log(`  ${times} times: ${what}\n${example}`);
  say(minutes, times, all, after ?? { rssMb: 0, descriptors: 0 });
  console.log(
    `restarts: ${hasEnded() ? "THE SERVER ENDED" : "none"}; worst ratio ${worst.ratio.toFixed(2)} (${worst.kind})`,
  );
  if (hasEnded()) console.log(stage.server.log().slice(-5000));
  const neverWell = [...played].filter(([, { times, failed }]) => times > 0 && times === failed).map(([name]) => name);
  const isWell = !hasEnded() && all.failures.length === 0 && worst.ratio <= RATIO && neverWell.length === 0;
  const result = {
    ...{ seed, minutes, together: values.together, isWell, times, worst, before, after, defects, neverWell },
    ...{ requests: all.requests, failures: all.failures, generated: noise.tally.sent, outcomes: noise.tally.outcomes },
    played: Object.fromEntries(played),
  };
  await keep(result);
  return isWell && defects.length === 0;
}

async function keep(result: object): Promise<void> {
  const at = timestamp(Date.now());
  await mkdir(RESULTS, { recursive: true });
  const file = join(RESULTS, `hostile-${at.replaceAll(":", "-")}.json`);
  await writeFile(file, `${JSON.stringify({ at, ...result }, null, 2)}\n`);
  console.log(`kept in ${file}`);
}

process.exitCode = (await hour()) ? 0 : 1;
