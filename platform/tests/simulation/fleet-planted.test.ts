/** The simulation of fleets finds each bug that is planted on purpose, so it would also find one that came by itself. */
import { afterAll, expect, test } from "vitest";
import { type PlantedFleetBug, plantedFleetBugs } from "./fleet/planted.ts";
import { simulateFleet } from "./fleet/world.ts";

const MOST_SEEDS = 300;

const found: string[] = [];
afterAll(() => console.info(found.join("\n")));

async function firstFound({ plant, mix }: PlantedFleetBug) {
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const { violation } = await simulateFleet({ seed, plant, mix });
    if (violation) return violation;
  }
  return undefined;
}

test.each(plantedFleetBugs)(`found within ${MOST_SEEDS} seeds: $name`, async (bug) => {
  const violation = await firstFound(bug);
  found.push(`${violation?.message.split("\n", 1)[0]}  <- ${bug.name}`);
  expect(violation?.message.split("\n", 1)[0]).toMatch(bug.shows);
});

test.each(plantedFleetBugs)("without the bug, its mix breaks no rule: $name", async ({ mix }) => {
  for (let seed = 1; seed <= 3; seed++) {
    const { violation } = await simulateFleet({ seed, mix });
    if (violation) throw violation;
  }
});
