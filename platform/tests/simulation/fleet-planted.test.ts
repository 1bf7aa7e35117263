/** The simulation of fleets finds each bug that is planted on purpose, so it would also find one that came by itself. */
import { afterAll, describe, expect, test } from "vitest";
import type { SimulatedNode } from "./fleet/node.ts";
import { type PlantedFleetBug, plantedFleetBugs } from "./fleet/planted.ts";
import { simulateFleet } from "./fleet/world.ts";
import { Standstill } from "./standstill.ts";
import { Timeline } from "./timeline.ts";
import { Trace } from "./trace.ts";

const MOST_SEEDS = 300;

const found: string[] = [];
afterAll(() => console.info(found.join("\n")));

/** Shorter than the time after which a test counts as hanging, so that the test says how far it came. */
const MOST_MS = 180_000;

async function firstFound({ plant, mix }: PlantedFleetBug): Promise<string> {
  const untilMs = performance.now() + MOST_MS;
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const { violation } = await simulateFleet({ seed, plant, mix });
    if (violation) return violation.message.split("\n", 1)[0]!;
    if (performance.now() > untilMs) return `nothing was found with seeds 1 to ${seed} in ${MOST_MS / 1000} s`;
  }
  return `nothing was found with seeds 1 to ${MOST_SEEDS}`;
}

test.each(plantedFleetBugs)(`found within ${MOST_SEEDS} seeds: $name`, async (bug) => {
  const first = await firstFound(bug);
  found.push(`${first}  <- ${bug.name}`);
  expect(first).toMatch(bug.shows);
});

describe("a history whose time stands still ends, and says so with its seed", () => {
  const limits = { events: 5000, calls: 5000, turns: 10 };

  test("because a process calls again and again without waiting", async () => {
    const node = ({ services }: SimulatedNode) => {
      const again = async (): Promise<void> => {
        for (;;) await services.endpoints.find("nothing");
      };
      void again();
    };
    const { violation } = await simulateFleet({ seed: 1, plant: { node }, standstill: limits });
    expect(violation?.message).toMatch(/^seed 1: time stands still: 5001 calls left the processes/);
  });

  test("because timers are set for the same moment again and again", async () => {
    const node = ({ life }: SimulatedNode) => {
      const again = () => void life.timeline.after(0, again);
      again();
    };
    const { violation } = await simulateFleet({ seed: 1, plant: { node }, standstill: limits });
    expect(violation?.message).toMatch(/time stands still: 5001 events happened/);
  });

  test("because nothing is left that could happen", async () => {
    const timeline = new Timeline();
    const trace = new Trace(timeline, 7);
    const standstill = new Standstill(timeline, trace, limits);
    while (!trace.isBroken) standstill.stepped(await timeline.step());
    expect(trace.violation?.message).toMatch(/time stands still: 11 turns .*, nothing is left that could happen/);
  });
});

test.each(plantedFleetBugs)("without the bug, its mix breaks no rule: $name", async ({ mix }) => {
  for (let seed = 1; seed <= 3; seed++) {
    const { violation } = await simulateFleet({ seed, mix });
    if (violation) throw violation;
  }
});
