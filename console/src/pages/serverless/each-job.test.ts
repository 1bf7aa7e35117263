/** Doing one thing to many jobs. */
import { expect, test } from "vitest";
import { Refusal } from "../../api/refusal.ts";
import { eachJob, tallyText } from "./each-job.ts";

const ids = Array.from({ length: 20 }, (_, i) => `job ${i}`);

test("every job is acted on once, a few at a time", async () => {
  const seen: string[] = [];
  let now = 0;
  let most = 0;
  const tally = await eachJob(ids, async (id) => {
    most = Math.max(most, ++now);
    await Promise.resolve();
    seen.push(id);
    now--;
  });
  expect(seen.sort()).toEqual([...ids].sort());
  expect(most).toBeLessThanOrEqual(6);
  expect(tally.done).toBe(20);
});

test("a refusal is counted by its words, and the rest goes on", async () => {
  const tally = await eachJob(ids, async (id) => {
    if (id === "job 3" || id === "job 7") throw new Refusal(404, "Not Found", "job not found");
  });
  expect(tallyText("cancelled", tally)).toBe("18 jobs cancelled. 2 were not: job not found (2)");
});

test("a server that is too busy is asked again after a pause", async () => {
  const pauses: number[] = [];
  let refusals = 3;
  const act = async () => {
    if (refusals-- > 0) throw new Refusal(429, "Too Many Requests", "slow down");
  };
  const tally = await eachJob(["one"], act, { pause: async (ms) => pauses.push(ms) });
  expect(tally).toEqual({ done: 1, refused: new Map() });
  expect(pauses).toEqual([1000, 1000, 1000]);
});

test("one is a job, and more are jobs", () => {
  expect(tallyText("retried", { done: 1, refused: new Map() })).toBe("1 job retried.");
  expect(tallyText("retried", { done: 0, refused: new Map([["no", 1]]) })).toBe("0 jobs retried. 1 was not: no (1)");
});
