/** Series of metrics on real databases: what was written is read back after a restart, on SQLite as on PostgreSQL, and goes with its resource. */
import { expect, test } from "vitest";
import type { Clock } from "../src/kernel/clock.ts";
import type { Store } from "../src/ports/store/store.ts";
import { columnsOf } from "../src/resources/history/chart.ts";
import { keyOf, layouts, pointAt, type Subject, tiers } from "../src/resources/history/model.ts";
import { Recorder } from "../src/resources/history/recorder.ts";
import { SeriesRecords } from "../src/resources/history/records.ts";
import { storesOnDisk } from "./stores-on-disk.ts";

const START = Date.UTC(2026, 0, 1);
const TICK_MS = 10_000;
const subjects: Subject[] = Array.from({ length: 20 }, (_, n) => ({ kind: "endpoint", id: `ep${n}`, account: "acc" }));

/** A clock that stands where a test puts it: the test makes each tick itself. */
function standingClock() {
  const clock = { at: 0, now: () => START + clock.at, monotonic: () => clock.at, after: () => ({ cancel: () => {} }) };
  return clock satisfies Clock;
}

async function record(store: Store, clock: ReturnType<typeof standingClock>, ticks: number): Promise<void> {
  const failures: unknown[] = [];
  const recorder = new Recorder({
    ...{ records: new SeriesRecords({ store }), clock, node: "n1", failed: (error) => void failures.push(error) },
    sources: {
      sample: async () => subjects.map((subject, n) => ({ subject, values: [n, 1, n] })),
      count: async () =>
        subjects.map((subject) => ({ subject, counted: { sums: [1, 0, 0], spreads: [[[30, 1]], []] } })),
      isThere: async () => true,
      isGone: async () => false,
    },
  });
  for (let tick = 0; tick < ticks; tick++) {
    clock.at += TICK_MS;
    await recorder.tick(clock.now());
  }
  await recorder[Symbol.asyncDispose]();
  expect(failures).toEqual([]);
}

async function read(store: Store, now: number, number: number, subject: Subject) {
  const records = new SeriesRecords({ store });
  const tier = tiers[number]!;
  const [stored, spans] = [await records.stored(keyOf(subject), number), await records.spans()];
  const first = pointAt(tier, now) - tier.points + 1;
  const chart = { tier, number, first, points: tier.points, stored, spans, since: START, now };
  return columnsOf({ ...chart, layout: layouts.endpoint });
}

test.each(Object.entries(storesOnDisk))(
  "on %s, series outlive a restart and go with their resource",
  async (_, make) => {
    await using database = await make();
    const clock = standingClock();
    // 25 minutes: several blocks of the finest tier, and points of the next one.
    for (const ticks of [100, 50]) {
      await using store = await database.open();
      await record(store, clock, ticks);
    }
    await using store = await database.open();
    for (const number of tiers.keys()) {
      const series = await read(store, clock.now(), number, subjects[7]!);
      expect(series.jobsCompleted!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(150);
      expect(series.jobsInQueue!.findLast((value) => value !== null)).toBe(7);
    }
    const records = new SeriesRecords({ store });
    await records.remove(keyOf(subjects[7]!));
    const left = new Set<string>();
    for await (const key of records.keys()) left.add(key);
    expect([left.size, left.has(keyOf(subjects[7]!))]).toEqual([subjects.length - 1, false]);
  },
);
