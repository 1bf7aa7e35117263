/** Several servers share a database, and a command that must be alone with it is alone. */
import { Client } from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { FakeClock, realClock } from "../../kernel/clock.ts";
import type { ClockDifference } from "../../kernel/clock-difference.ts";
import { enterAlone, PostgresPresence } from "./presence.ts";

async function endPresences(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'millrace presence'`,
  );
  await client.end();
}

/** Waits until the presence has noticed its loss or its return. Both come through the network, without an event of ours. */
async function until(presence: PostgresPresence, clock: FakeClock, held: boolean): Promise<void> {
  for (;;) {
    try {
      presence.assertHeld();
      if (held) return;
    } catch {
      if (!held) return;
    }
    if (held) await clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("a command is alone only when no server is there, and no server comes while it is", async () => {
  await using database = await freshDatabase();
  const clock = new FakeClock();
  const first = await PostgresPresence.open(database.url, clock);
  const second = await PostgresPresence.open(database.url, clock);
  await first[Symbol.asyncDispose]();
  expect(await enterAlone(database.url)).toBeUndefined();
  await second[Symbol.asyncDispose]();
  const alone = await enterAlone(database.url);
  expect(alone).toBeDefined();
  expect(await enterAlone(database.url)).toBeUndefined();
  await expect(PostgresPresence.open(database.url, clock)).rejects.toThrow("is being rotated");
  await alone![Symbol.asyncDispose]();
  await (await PostgresPresence.open(database.url, clock))[Symbol.asyncDispose]();
});

test("a server whose place was lost seals nothing until it has looked whether its key is still the right one", async () => {
  await using database = await freshDatabase();
  const clock = new FakeClock();
  await using presence = await PostgresPresence.open(database.url, clock);
  presence.assertHeld();
  let looks = 0;
  let rotated = true;
  presence.onReturn(async () => {
    looks++;
    if (rotated) throw new Error("another key");
  });
  await endPresences(database.url);
  await until(presence, clock, false);
  expect(() => presence.assertHeld()).toThrow("Nothing can be sealed");
  const alone = await enterAlone(database.url);
  expect(alone).toBeDefined();
  expect(looks).toBe(0);
  await alone![Symbol.asyncDispose]();
  while (looks < 2) {
    await clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(() => presence.assertHeld()).toThrow("Nothing can be sealed");
  rotated = false;
  await until(presence, clock, true);
});

test("a server learns how far its clock is from the database's, at its start and when it was set, and that it is unknown", async () => {
  await using database = await freshDatabase();
  const timers = new FakeClock();
  let aheadMs = 5000;
  const clock = {
    now: () => realClock.now() + aheadMs,
    monotonic: () => realClock.monotonic(),
    after: (delayMs: number, action: () => void) => timers.after(delayMs, action),
  };
  let next = Promise.withResolvers<ClockDifference | undefined>();
  const compared = (difference: ClockDifference | undefined) => next.resolve(difference);
  const heard = async () => {
    const difference = await next.promise;
    next = Promise.withResolvers();
    return difference;
  };
  /** How much the measured difference is wrong beyond its own error. This machine is the database's too. */
  const wrongMs = (difference: ClockDifference | undefined) =>
    Math.abs(difference!.aheadMs - aheadMs) - difference!.errorMs;
  await using _ = await PostgresPresence.open(database.url, clock, { compared });
  expect(wrongMs(await heard())).toBeLessThan(2);
  aheadMs = -120_000;
  await timers.advance(10_000);
  expect(wrongMs(await heard())).toBeLessThan(2);
  await endPresences(database.url);
  expect(await heard()).toBeUndefined();
});
