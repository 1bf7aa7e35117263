/** The troubles of a chaos run. Each begins, lasts as long as was drawn, and is over when it returns. */
import { readdirSync, readFileSync } from "node:fs";
import { stay } from "../../platform/src/kernel/clock.ts";
import type { SeededRandom } from "../../platform/src/kernel/random.ts";
import { type ChaosNode, movesClocks } from "./node.ts";
import type { PostgresPair } from "./postgres-pair.ts";
import type { SmallDisk } from "./small-disk.ts";

export interface Scene {
  nodes: readonly ChaosNode[];
  database: PostgresPair;
  databaseDisk: SmallDisk;
  chance: SeededRandom;
  /** The names of programs that run in workers and Pods. */
  programs: readonly string[];
  /** The processes of workers and Pods by node. */
  note(what: string): void;
}

export type Trouble = [weight: number, name: string, bring: (scene: Scene, node: ChaosNode) => Promise<void>];

const between = (chance: SeededRandom, from: number, to: number) => from + chance.below(to - from);
const oneOf = <T>(chance: SeededRandom, items: readonly T[]) => items[chance.below(items.length)]!;

/** A node counts as silent after 14 s, so it is away for less than that, or for more. */
const away = (chance: SeededRandom) =>
  chance.below(2) === 0 ? between(chance, 500, 6_000) : between(chance, 15_000, 40_000);

export const nodeTroubles: Trouble[] = [
  [
    6,
    "node killed with kill -9",
    async ({ chance }, node) => {
      await node.end("SIGKILL");
      await stay(away(chance));
      await node.start();
    },
  ],
  [
    4,
    "node frozen",
    async ({ chance }, node) => {
      node.signal("SIGSTOP");
      await stay(away(chance));
      node.signal("SIGCONT");
    },
  ],
  [
    3,
    "node ended in order",
    async ({ chance, note }, node) => {
      const code = await node.end("SIGTERM");
      if (code !== 0 && code !== undefined) note(`${node.name} ended with ${code} when it was asked to end`);
      await stay(between(chance, 0, 10_000));
      await node.start();
    },
  ],
  [
    4,
    "link to the database cut",
    async ({ chance }, { link }) => {
      await link.cut();
      await stay(away(chance));
      await link.mend();
    },
  ],
  [
    3,
    "link to the database slow",
    async ({ chance }, { link }) => {
      link.delay(between(chance, 20, 500));
      await stay(between(chance, 5_000, 30_000));
      link.delay(0);
    },
  ],
  [
    3,
    "link to the database silent",
    async ({ chance }, { link }) => {
      link.silence();
      await stay(away(chance));
      link.speak();
    },
  ],
  [
    3,
    "disk of a node full",
    async ({ chance }, { disk }) => {
      await disk.fill();
      await stay(between(chance, 3_000, 25_000));
      await disk.makeRoom();
    },
  ],
  [
    movesClocks ? 3 : 0,
    "clock of a node moved",
    async ({ chance }, node) => {
      const seconds = oneOf(chance, [-90, -20, -3, 3, 20, 90]);
      await node.moveClock(seconds);
      await stay(between(chance, 5_000, 40_000));
      await node.moveClock(0);
    },
  ],
  [
    3,
    "workers and Pods killed",
    async ({ chance, programs }) => {
      const found = processesWith(programs);
      for (let count = 1 + chance.below(3); count > 0 && found.length > 0; count--) kill(oneOf(chance, found));
      await stay(2_000);
    },
  ],
];

export const databaseTroubles: Trouble[] = [
  [
    4,
    "PostgreSQL killed and started again",
    async ({ chance, database }) => database.restart(between(chance, 0, 12_000)),
  ],
  [3, "PostgreSQL failed over to its replica", async (scene) => failOver(scene)],
  [
    2,
    "replica frozen, so that commits wait",
    async ({ chance, database }) => {
      database.freezeReplica();
      await stay(between(chance, 1_000, 20_000));
      database.thawReplica();
    },
  ],
  [
    2,
    "replica frozen, then failed over to",
    async (scene) => {
      scene.database.freezeReplica();
      await stay(between(scene.chance, 1_000, 20_000));
      await failOver(scene);
    },
  ],
  [
    2,
    "disk of PostgreSQL full",
    async ({ chance, database, databaseDisk }) => {
      await databaseDisk.fill();
      await stay(between(chance, 2_000, 15_000));
      await databaseDisk.makeRoom();
      await database.start();
    },
  ],
];

/** Each node finds the new primary by its link, as it would by a name or an address that moves. */
async function failOver({ database, nodes }: Scene): Promise<void> {
  await database.failOver();
  for (const { link } of nodes) link.pointTo(database.url);
  await database.addReplica();
}

export function drawTrouble(chance: SeededRandom, troubles: readonly Trouble[]): Trouble {
  return oneOf(
    chance,
    troubles.flatMap((trouble) => Array.from({ length: trouble[0] }, () => trouble)),
  );
}

export function processesWith(programs: readonly string[]): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => programs.some((program) => commandOf(pid).includes(program)))
    .map(Number);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
