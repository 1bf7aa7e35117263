/** Requests that are answered without a key. */
import { expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { Readiness } from "./probes.ts";

test.each([
  ["/healthz", "application/json; charset=utf-8", '{"status":"ok"}'],
  ["/readyz", "application/json; charset=utf-8", '{"status":"ok"}'],
  ["/favicon.ico", "image/svg+xml", "<svg "],
])("%s is answered without a key", async (path, type, text) => {
  await using world = await setup();
  const answer = await world.call("GET", path, { key: null });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
  expect(answer.text.startsWith(text)).toBe(true);
});

function readiness(lease: () => Promise<number | undefined>, refusal?: () => string | undefined) {
  const clock = new FakeClock();
  return { clock, ready: new Readiness({ store: { lease }, clock, random: realRandom, refusal }) };
}

test("a server whose records cannot be written is not ready, and is again when they can; many askers are one write", async () => {
  let [writes, isBroken] = [0, true];
  const { clock, ready } = readiness(async () => {
    writes++;
    if (isBroken) throw new Error("the disk is gone");
    return 1;
  });
  const asked = await Promise.all(Array.from({ length: 100 }, () => ready.isReady()));
  expect([new Set(asked), writes]).toEqual([new Set([false]), 1]);
  isBroken = false;
  await clock.advance(1000);
  expect(await ready.isReady()).toBe(true);
});

test("nor is one whose store is silent, whose disk is full, or that is ending", async () => {
  const silent = readiness(() => new Promise(() => {}));
  const asked = silent.ready.isReady();
  await silent.clock.advance(5000);
  expect(await asked).toBe(false);
  expect(
    await readiness(
      async () => 1,
      () => "the server's disk is full",
    ).ready.isReady(),
  ).toBe(false);
  const { ready } = readiness(async () => 1);
  expect(await ready.isReady()).toBe(true);
  ready.close();
  expect(await ready.isReady()).toBe(false);
});
