/** When a node counts as silent, when as gone, and what ends that. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { Silences } from "./silences.ts";

async function setup(startsAt = 1_000_000) {
  const clock = new FakeClock(startsAt);
  const silences = new Silences({ clock });
  silences.look("n", startsAt);
  silences.looked(new Map());
  return { clock, silences, saidAt: startsAt };
}

test("a node is silent 14 s after its last word was noticed, and gone after 30", async () => {
  const { clock, silences, saidAt } = await setup();
  await clock.advance(13_999);
  expect(silences.look("n", saidAt)).toBeUndefined();
  await clock.advance(1);
  expect(silences.look("n", saidAt)).toEqual({ since: saidAt, isGone: false });
  await clock.advance(16_001);
  expect(silences.look("n", saidAt)).toEqual({ since: saidAt, isGone: true });
  expect(silences.look("n", saidAt + 1)).toBeUndefined();
});

test("no clocks must agree: a node that speaks is heard, whatever time it says", async () => {
  const { clock, silences } = await setup();
  for (let word = 0; word < 10; word++) {
    await clock.advance(5000);
    expect(silences.look("n", word)).toBeUndefined();
  }
});

test("after a time in which nobody could look, all that spoke before are waited for anew, and the silent stay silent", async () => {
  const { clock, silences, saidAt } = await setup();
  silences.look("silent", saidAt - 20_000);
  await clock.advance(14_000);
  silences.look("n", saidAt + 10_000);
  silences.look("silent", saidAt - 20_000);
  silences.couldNotLook();
  await clock.advance(60_000);
  expect(silences.look("n", saidAt + 10_000)).toBeUndefined();
  expect(silences.look("silent", saidAt - 20_000)).toEqual({ since: saidAt - 20_000, isGone: false });
});

test("a process that has only begun believes what is older than clocks can differ", () => {
  const clock = new FakeClock(1_000_000);
  const silences = new Silences({ clock });
  expect(silences.look("old", 1_000_000 - 44_001)).toEqual({ since: 1_000_000 - 44_001, isGone: false });
  expect(silences.look("recent", 1_000_000 - 44_000)).toBeUndefined();
});
