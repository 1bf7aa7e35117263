/** What is kept no longer than the settings say, on SQLite as on PostgreSQL: sessions, releases and series of metrics. */
import { expect, test } from "vitest";
import { FakeClock } from "../src/kernel/clock.ts";
import { SeededRandom } from "../src/kernel/random.ts";
import { Collection } from "../src/ports/store/collection.ts";
import type { Store } from "../src/ports/store/store.ts";
import { users } from "../src/resources/account/model.ts";
import { tiers } from "../src/resources/history/model.ts";
import { Recorder } from "../src/resources/history/recorder.ts";
import { SeriesRecords } from "../src/resources/history/records.ts";
import { Sessions } from "../src/resources/people/sessions.ts";
import { ReleaseRecords } from "../src/resources/releases/records.ts";
import { sessionDays as parseSessionDays } from "../src/settings/setting-values.ts";
import { storesOnDisk } from "./stores-on-disk.ts";

const START = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A test of the same name on each database. */
function onBoth(name: string, check: (store: Store) => Promise<void>): void {
  test.each(Object.entries(storesOnDisk))(`on %s, ${name}`, async (_, make) => {
    await using database = await make();
    await using store = await database.open();
    await check(store);
  });
}

const idsOf = async (store: Store, kind: string) =>
  (await store.list({ kind, limit: 1000 })).map(({ id }) => id).sort();

onBoth("a session ends as the settings say, and its record goes", async (store) => {
  const clock = new FakeClock(START);
  const person = { id: "u1", account: "a1" };
  await new Collection(store, users).insert({ ...person, createdAt: START, doc: { email: "ada@example.com" } });
  const sessions = new Sessions({ store, clock, random: new SeededRandom(1), sessionTimes: parseSessionDays("3,1") });
  const begun = ["used", "unused"].map(() => sessions.begin(person, "password", { address: "", userAgent: "" }));
  await store.commit(begun.map(({ write }) => write));
  const [used, unused] = begun.map(({ session }) => session.id) as [string, string];
  for (const left of [[used, unused].sort(), [used], [used], []]) {
    await sessions.sweep();
    expect(await idsOf(store, "session")).toEqual(left);
    await clock.advance(DAY_MS - 1000);
    await sessions.noteUse(used, clock.now());
    await clock.advance(1000);
  }
});

onBoth("an endpoint keeps its newest releases and its first, and none after its removal", async (store) => {
  const records = new ReleaseRecords({ store });
  const made = { at: START, user: "u1", diff: [] };
  const writes = Array.from({ length: 250 }, (_, i) =>
    records.inserting({ id: "ep", account: "a1", release: i + 1 }, made),
  );
  await store.commit(writes);
  // Two nodes at once: one of them may find that the other was first.
  await Promise.all([1, 2].map(() => records.removeOld({ id: "ep", release: 250 }, 20)));
  await records.removeOld({ id: "ep", release: 250 }, 20);
  const kept = [1, ...Array.from({ length: 20 }, (_, i) => 231 + i)].map((number) => `ep-${number}`);
  expect(await idsOf(store, "release")).toEqual(kept.sort());
  await records.removeEndpoint("ep");
  expect(await idsOf(store, "release")).toEqual([]);
});

onBoth("series go when they are too old, also those of a node that is gone", async (store) => {
  const clock = { at: 0, now: () => START + clock.at, monotonic: () => clock.at, after: () => ({ cancel: () => {} }) };
  const failures: unknown[] = [];
  const recorderOf = (node: string) =>
    new Recorder({
      ...{ records: new SeriesRecords({ store }), clock, node, days: 7 },
      failed: (error) => void failures.push(error),
      sources: {
        sample: async () => [{ subject: { kind: "endpoint", id: "ep", account: "a1" }, values: [clock.at % 7, 1, 3] }],
        count: async () => [],
        isThere: async () => true,
        isGone: async (other) => other === "n1",
      },
    });
  const pass = async (recorder: Recorder, days: number) => {
    for (let hours = 0; hours < 24 * days; hours += 2) {
      clock.at += 2 * HOUR_MS + 1;
      await recorder.tick(clock.now());
    }
  };
  const nodesOf = async () =>
    new Set((await store.list({ kind: "metrics-series", limit: 1000 })).map(({ doc }) => doc.node));
  await pass(recorderOf("n1"), 3);
  const next = recorderOf("n2");
  await pass(next, 4);
  expect(await nodesOf()).toEqual(new Set(["n1", "n2"]));
  await pass(next, 16);
  expect(await nodesOf()).toEqual(new Set(["n2"]));
  const coarsest = 3;
  const blocks = (await store.list({ kind: "metrics-series", limit: 1000 })).filter(({ doc }) => doc.tier === coarsest);
  const ends = blocks.map(({ doc }) => ((doc.block as number) + 1) * 60 * tiers[coarsest].stepMs);
  expect(Math.min(...ends)).toBeGreaterThan(clock.now() - 8 * DAY_MS);
  expect(failures).toEqual([]);
});
