/** Many simulated worlds, each from one seed, on both journals. No rule is broken in any of them. */
import { describe, expect, test } from "vitest";
import { simulate } from "./world.ts";

/** `MILLRACE_SIMULATION_SEEDS=5000 MILLRACE_SIMULATION_FIRST=1` runs more worlds, or one that failed. */
const seeds = Number(process.env.MILLRACE_SIMULATION_SEEDS ?? 90);
const first = Number(process.env.MILLRACE_SIMULATION_FIRST ?? 1);
/** On SQLite fewer worlds run, since opening files takes most of their time. */
const ofSqlite = Math.ceil(seeds / 5);

describe("no rule is broken", () => {
  test(`in memory, with seeds ${first} to ${first + seeds - 1}`, async () => {
    for (let seed = first; seed < first + seeds; seed++) {
      const { violation } = await simulate({ seed, disk: "memory" });
      if (violation) throw violation;
    }
  });

  test(`on SQLite, with seeds ${first} to ${first + ofSqlite - 1}`, async () => {
    for (let seed = first; seed < first + ofSqlite; seed++) {
      const { violation } = await simulate({ seed, disk: "sqlite" });
      if (violation) throw violation;
    }
  });
});

test.each([1, 2, 3, 4, 5])("seed %i gives the same world each time, on either journal", async (seed) => {
  const { text } = await simulate({ seed, disk: "memory" });
  expect(text.split("\n").length).toBeGreaterThan(100);
  expect((await simulate({ seed, disk: "memory" })).text).toBe(text);
  expect((await simulate({ seed, disk: "sqlite" })).text).toBe(text);
});

/** A simulation in which nothing goes wrong proves nothing. */
test("crashes, lost flushes, full disks, dead workers, retries and purges all happen", async () => {
  let all = "";
  for (let seed = 1; seed <= 30; seed++) all += (await simulate({ seed, disk: "memory" })).text;
  const happenings = [
    "crashes by itself",
    "crashes right after an answer",
    "crashes in a flush that is lost",
    "crashes after a flush, before its answer",
    "the disk is full",
    "the clock jumps",
    "dies",
    "pauses",
    "decided COMPLETED",
    "decided FAILED",
    "decided CANCELLED",
    "decided TIMED_OUT",
    "purged on the disk",
    "expired on the disk",
    "asks: retry",
    "asks: shorten",
    "sees COMPLETED",
    "sees no such job",
  ];
  expect(happenings.filter((happening) => !all.includes(happening))).toEqual([]);
});
