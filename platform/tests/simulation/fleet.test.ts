/** Many simulated platforms, each from one seed: several nodes, their machines, Pods, clusters, workers, bills and events. No rule is broken. */
import { describe, expect, test } from "vitest";
import { realRandom } from "../../src/kernel/random.ts";
import { simulateFleet } from "./fleet/world.ts";

/** `MILLRACE_SIMULATION_FLEETS=1 MILLRACE_SIMULATION_FIRST=7` runs one history again. */
const count = Number(process.env.MILLRACE_SIMULATION_FLEETS ?? 60);
const first = Number(process.env.MILLRACE_SIMULATION_FIRST ?? new DataView(realRandom.bytes(4).buffer).getUint32(0));
describe("no rule is broken", () => {
  test(`with seeds ${first} to ${first + count - 1}`, async () => {
    for (let seed = first; seed < first + count; seed++) {
      const { violation } = await simulateFleet({ seed });
      if (violation) throw violation;
    }
  });
});

test.each([1, 2, 3, 4, 5])("seed %i gives the same platform each time", async (seed) => {
  const { text } = await simulateFleet({ seed });
  expect((await simulateFleet({ seed })).text).toBe(text);
});

/** A simulation in which nothing goes wrong proves nothing. */
test("nodes crash, freeze and leave, machines lose power, clocks jump, starts fail, and Pods, clusters, volumes and jobs come and go", async () => {
  let all = "";
  for (let seed = 1; seed <= 60; seed++) all += (await simulateFleet({ seed })).text;
  const happenings = [
    "crashes by itself",
    "crashes before a commit",
    "crashes after a commit",
    "freezes for",
    "leaves",
    "loses power",
    "has power again",
    "the store is away",
    "the clock of",
    "PLACED -> RUNNING",
    "RUNNING -> CRASHED",
    "STARTING -> READY",
    "READY -> DRAINING",
    "READY -> FROZEN",
    "(start-refused)",
    "IN_PROGRESS -> COMPLETED",
    "claimed by",
  ];
  expect(happenings.filter((happening) => !all.includes(happening))).toEqual([]);
});
