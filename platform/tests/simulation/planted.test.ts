/** The simulation finds each bug that is planted on purpose, so it would also find one that came by itself. */
import { afterAll, expect, test } from "vitest";
import { type PlantedBug, plantedBugs } from "./planted.ts";
import { simulate } from "./world.ts";

const MOST_SEEDS = 2000;

const found: string[] = [];
afterAll(() => console.info(found.join("\n")));

async function firstFound({ plant, mix }: PlantedBug, onlyClients = false) {
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const { violation } = await simulate({ seed, disk: "memory", plant, mix, onlyClients });
    if (violation) return violation;
  }
  return undefined;
}

test.each(plantedBugs)(`found within ${MOST_SEEDS} seeds: $name`, async (bug) => {
  const violation = await firstFound(bug);
  found.push(`${violation?.message.split("\n", 1)[0]}  <- ${bug.name}`);
  expect(violation?.message).toMatch(/^seed \d+: .*\n/);
});

test.each(plantedBugs.filter(({ isSeen }) => isSeen))("found by what clients see alone: $name", async (bug) => {
  expect((await firstFound(bug, true))?.message).toMatch(/^seed \d+: /);
});

test.each(plantedBugs)("without the bug, its mix breaks no rule: $name", async ({ mix }) => {
  for (let seed = 1; seed <= 5; seed++) {
    const { violation } = await simulate({ seed, disk: "memory", mix });
    if (violation) throw violation;
  }
});
