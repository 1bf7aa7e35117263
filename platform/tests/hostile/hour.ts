/** Repeats all scenes, several at a time, beside a witness and generated requests: `npm run hostile -- --minutes 60`. */
import { mkdir, writeFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stay, timestamp } from "../../src/kernel/clock.ts";
import { realRandom, SeededRandom } from "../../src/kernel/random.ts";
import { noiseOf } from "./noise.ts";
import type { Requests } from "./requests/campaign.ts";
import { type Size, sizeOf } from "./requests/size.ts";
import { allScenes } from "./scenes.ts";
import { openStage, play, type Scene, type Stage } from "./stage.ts";
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
    /** Only scenes whose names contain this text. */
    scenes: { type: "string", default: "" },
    quiet: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
const minutes = Number(values.minutes);

interface Played {
  times: number;
  failed: number;
  /** The message of the last failure. */
  said?: string;
}

/** Deals the scenes in random order: all of them before one repeats, and never one beside itself, since a scene may use fixed names. */
class Deck {
  readonly #scenes: readonly Scene[];
  readonly #chance: SeededRandom;
  readonly #played = new Set<Scene>();
  #left: Scene[] = [];

  constructor(scenes: readonly Scene[], chance: SeededRandom) {
    this.#scenes = scenes;
    this.#chance = chance;
  }

  /** Undefined while every scene that is left is being played. */
  draw(): Scene | undefined {
    if (this.#left.length === 0) this.#left = shuffled(this.#scenes, this.#chance);
    const at = this.#left.findIndex((scene) => !this.#played.has(scene));
    const [scene] = at < 0 ? [] : this.#left.splice(at, 1);
    if (scene) this.#played.add(scene);
    return scene;
  }

  putBack(scene: Scene): void {
    this.#played.delete(scene);
  }
}

function shuffled<T>(items: readonly T[], chance: SeededRandom): T[] {
  const keyed = items.map((item) => ({ item, key: chance.fraction() }));
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item);
}

const LOOK_MS = 100;

async function playOn(stage: Stage, deck: Deck, played: Map<string, Played>, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const scene = deck.draw();
    if (!scene) {
      await stay(LOOK_MS);
      continue;
    }
    const count = played.get(scene.name)!;
    count.times++;
    await play(scene, stage).catch((error: Error) => {
      count.failed++;
      count.said = error.message.slice(0, 300);
    });
    deck.putBack(scene);
  }
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

function say(when: string, idle: Testimony, testimony: Testimony, { rssMb, descriptors }: Size): void {
  const { requests, failures, seen } = testimony;
  console.log(
    `${when}: ${requests} requests of the witness, ${failures.length} failures, ` +
      `${rssMb} MB, ${descriptors} descriptors, load ${loadavg()[0]!.toFixed(1)}`,
  );
  for (const { kind, idle: before, attacked, ratio } of timesOf(idle.seen, seen))
    console.log(`  ${kind}: p50/p99 ${shown(before)} idle, ${shown(attacked)} attacked, ratio ${ratio.toFixed(2)}`);
  const worst = worstRatio(idle, testimony);
  console.log(`  worst, beyond what the machine is to blame for: ${worst.ratio.toFixed(2)} (${worst.kind})`);
  for (const failure of failures.slice(0, 5)) console.log(`  FAILED ${failure}`);
}

interface Hour {
  stage: Stage;
  noise: Requests;
  idle: Testimony;
  /** What the witness saw in all minutes together. */
  attacked: Testimony;
  played: Map<string, Played>;
  before: Size;
}

const hasEnded = ({ server }: Stage) => server.process.exitCode !== null || server.process.signalCode !== null;

async function attack({ stage, noise, idle, attacked, played }: Hour, scenes: Scene[]): Promise<void> {
  const endsAt = performance.now() + minutes * MINUTE_MS;
  const isOver = () => hasEnded(stage) || performance.now() > endsAt;
  const deck = new Deck(scenes, new SeededRandom(seed));
  const attacks = Array.from({ length: Number(values.together) }, () => playOn(stage, deck, played, isOver));
  if (!values.quiet) attacks.push(noise.send(Number.POSITIVE_INFINITY, isOver));
  for (let minute = 1; !isOver(); minute++) {
    const left = Math.max(0, Math.min(MINUTE_MS, endsAt - performance.now()));
    const testimony = await stage.witness.watch(stay(left), 1);
    merge(attacked, testimony);
    if (!hasEnded(stage)) say(`minute ${minute}`, idle, testimony, await sizeOf(stage.server.process.pid!));
  }
  await Promise.all(attacks);
}

async function report({ stage, noise, idle, attacked, played, before }: Hour): Promise<boolean> {
  const after = hasEnded(stage) ? undefined : await sizeOf(stage.server.process.pid!);
  const { tally } = noise;
  const defects = [...tally.defects.values()];
  console.log(`\n${[...played.values()].reduce((sum, { times }) => sum + times, 0)} scenes played:`);
  for (const [name, { times, failed, said }] of played)
    console.log(`  ${times} times, ${failed} answered wrongly: ${name}${said ? ` (${said})` : ""}`);
  console.log(`${tally.sent} generated requests, ${defects.length} defects`);
  for (const { what, times, example } of defects) console.log(`  ${times} times: ${what}\n${example}`);
  say("in all", idle, attacked, after ?? { rssMb: 0, descriptors: 0 });
  console.log(`restarts: ${after ? "none" : "THE SERVER ENDED"}`);
  if (!after) console.log(stage.server.log().slice(-5000));
  const worst = worstRatio(idle, attacked);
  // A scene that failed every time was no attack at all.
  const neverWell = [...played].filter(([, { times, failed }]) => times > 0 && times === failed).map(([name]) => name);
  const { requests, failures } = attacked;
  const isWell = after !== undefined && failures.length === 0 && worst.ratio <= RATIO && neverWell.length === 0;
  await keep({
    ...{
      seed,
      minutes,
      together: values.together,
      isWell,
      worst,
      before,
      after,
      defects,
      neverWell,
      requests,
      failures,
    },
    ...{ times: timesOf(idle.seen, attacked.seen), generated: tally.sent, outcomes: tally.outcomes },
    played: Object.fromEntries(played),
  });
  return isWell && defects.length === 0;
}

async function hour(): Promise<boolean> {
  const scenes = (await allScenes()).filter(({ name }) => name.includes(values.scenes));
  console.log(`${scenes.length} scenes, ${values.together} together, for ${minutes} minutes, --seed ${seed}`);
  await using stage = await openStage();
  const idle = await stage.witness.watch(stay(IDLE_MS));
  const before = await sizeOf(stage.server.process.pid!);
  using noise = await noiseOf(stage, seed);
  const played = new Map<string, Played>(scenes.map(({ name }) => [name, { times: 0, failed: 0 }]));
  const attacked: Testimony = { requests: 0, failures: [], seen: new Map() };
  const run = { stage, noise, idle, attacked, played, before };
  await attack(run, scenes);
  return report(run);
}

async function keep(result: object): Promise<void> {
  const at = timestamp(Date.now());
  await mkdir(RESULTS, { recursive: true });
  const file = join(RESULTS, `hostile-${at.replaceAll(":", "-")}.json`);
  await writeFile(file, `${JSON.stringify({ at, ...result }, null, 2)}\n`);
  console.log(`kept in ${file}`);
}

process.exitCode = (await hour()) ? 0 : 1;
