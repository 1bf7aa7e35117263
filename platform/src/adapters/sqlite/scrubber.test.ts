/** When the write-ahead log is emptied, and how long a removal waits for it. */
import { expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { Scrubber } from "./scrubber.ts";
import type { Emptying } from "./writer.ts";

function setup(outcome: Emptying | Error) {
  const clock = new FakeClock();
  const log = { outcome, tries: 0 };
  const scrubber = new Scrubber(async () => {
    log.tries++;
    if (log.outcome instanceof Error) throw log.outcome;
    return log.outcome;
  }, clock);
  return { clock, log, scrubber };
}

test("it waits for somebody who uses the log", async () => {
  const { clock, log, scrubber } = setup("in-use");
  const scrubbing = scrubber.now();
  await turn();
  await clock.advance(1_000);
  log.outcome = "emptied";
  await clock.advance(50);
  expect(await scrubbing).toBe(true);
  expect(clock.waiting).toBe(0);
});

test("it does not wait forever, says that the log is not empty, and tries again by itself", async () => {
  const { clock, log, scrubber } = setup("in-use");
  const scrubbing = scrubber.now();
  await turn();
  await clock.advance(5_000);
  expect(await scrubbing).toBe(false);
  const { tries } = log;
  await clock.advance(2_000);
  expect(log.tries).toBeGreaterThan(tries);
  log.outcome = "emptied";
  await clock.advance(1_000);
  expect(clock.waiting).toBe(0);
});

test.each([
  ["a full disk", "disk-full" as const],
  ["a writer that ended", new Error("it ended")],
])("%s does not get better by waiting: the answer comes after one try", async (_, outcome) => {
  const { log, scrubber } = setup(outcome);
  expect(await scrubber.now()).toBe(false);
  expect(log.tries).toBe(1);
});

test("one that is closed with work due still does it, and nothing afterwards", async () => {
  const { clock, log, scrubber } = setup("emptied");
  scrubber.soon();
  await scrubber.close();
  scrubber.soon();
  await clock.advance(10_000);
  expect(log.tries).toBe(1);
});
