/** The cost since a moment, asked for often: as exact as reading everything, except for what happened since the last look. */
import { expect, test } from "vitest";
import { FakeClock, turn } from "../kernel/clock.ts";
import { SeededRandom } from "../kernel/random.ts";
import { Collection } from "../ports/store/collection.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import type { Listing } from "../ports/store/store.ts";
import { Costs } from "./cost.ts";
import { RunningCosts, StillReading } from "./running-cost.ts";
import { type KeptSpan, spans } from "./span.ts";

const T0 = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const USD = 1_000_000_000n;
const LOOK = 5000;

/** Counts the records that are read. */
class CountingStore extends MemoryStore {
  read = 0;

  override async list(listing: Listing) {
    const found = await super.list(listing);
    this.read += found.length;
    return found;
  }
}

function setup() {
  const store = new CountingStore();
  const clock = new FakeClock();
  const kept = new Collection(store, spans);
  let number = 0;
  return {
    store,
    clock,
    exact: new Costs({ store, clock }),
    running: new RunningCosts({ store, clock }),
    async begin(given: Partial<KeptSpan> & { account?: string } = {}): Promise<string> {
      const { account = "acc", ...said } = given;
      const id = `i${++number}.1`;
      const doc = { ...SOMETHING, instance: `i${number}`, from: clock.now(), ...said };
      await kept.insert({ id, account, createdAt: doc.from, doc });
      return id;
    },
    async end(id: string, to = clock.now(), free?: string) {
      await kept.patch((await kept.get(id))!, { to, ...(free !== undefined && { free }) });
    },
  };
}

const SOMETHING: KeptSpan = {
  ...{ instance: "i", kind: "pod", owner: "p", createdBy: "k", phase: "running", dataCenter: null, image: "" },
  ...{ template: null, gpuType: null, gpuCount: 0, flavor: null, vcpu: 0, memoryMb: 0, diskGb: 0 },
  price: { gpu: 1_000_000_000, cpu: 0, disk: 0, storage: 0 },
  ...{ from: T0, to: null },
};

test("what is open goes on without a look", async () => {
  const { running, begin, clock, store } = setup();
  await begin();
  expect(await running.since({ account: "acc", since: T0 })).toBe(0n);
  const { read } = store;
  await clock.advance(3600);
  expect(await running.since({ account: "acc", since: T0 })).toBe(1_000_000n);
  expect(store.read).toBe(read);
});

test("what ends is counted once, however often it is looked at", async () => {
  const { running, begin, end, clock } = setup();
  const id = await begin();
  await clock.advance(HOUR);
  await running.since({ account: "acc", since: T0 });
  await end(id);
  for (let look = 0; look < 5; look++) {
    await clock.advance(LOOK);
    expect(await running.since({ account: "acc", since: T0 })).toBe(USD);
  }
});

test("what began and ended between two looks is found, also when it was written late", async () => {
  const { running, begin, end, clock } = setup();
  await running.since({ account: "acc", since: T0 });
  await clock.advance(10 * 60_000);
  await running.since({ account: "acc", since: T0 });
  await end(await begin({ from: T0 + 60_000 }), T0 + 60_000 + 360_000);
  await clock.advance(LOOK);
  expect(await running.since({ account: "acc", since: T0 })).toBe(USD / 10n);
});

test("what turns out to be free is not paid for", async () => {
  const { running, begin, end, clock } = setup();
  const id = await begin();
  await clock.advance(HOUR);
  expect(await running.since({ account: "acc", since: T0 })).toBe(USD);
  await end(id, clock.now(), "its start failed");
  await clock.advance(LOOK);
  expect(await running.since({ account: "acc", since: T0 })).toBe(0n);
});

test("accounts and keys are reckoned apart", async () => {
  const { running, begin, clock } = setup();
  await begin({ createdBy: "one" });
  await begin({ createdBy: "two" });
  await begin({ account: "other" });
  await clock.advance(HOUR);
  const since = T0;
  expect(await running.since({ account: "acc", since })).toBe(2n * USD);
  expect(await running.since({ account: "acc", key: "one", since })).toBe(USD);
  expect(await running.since({ account: "acc", key: "none", since })).toBe(0n);
});

test("a look reads what is open and what is new, not all that ever was", async () => {
  const { running, begin, end, clock, store } = setup();
  for (let n = 0; n < 300; n++) await end(await begin(), clock.now() + 1000);
  await begin();
  await clock.advance(HOUR);
  await running.since({ account: "acc", since: T0 });
  const { read } = store;
  await clock.advance(LOOK);
  await running.since({ account: "acc", since: T0 });
  // One page is read, because nothing on it may be recent enough.
  expect(store.read - read).toBeLessThanOrEqual(502);
});

test("a long history keeps only those waiting who want to, and the next who asks knows", async () => {
  const { running, begin, clock, store } = setup();
  await begin();
  await clock.advance(HOUR);
  const gate = Promise.withResolvers<void>();
  const list = store.list.bind(store);
  store.list = async (listing) => {
    await gate.promise;
    return list(listing);
  };
  const asked = { account: "acc", since: T0 };
  const impatient = running.sinceWithin(asked, 500).catch((error: unknown) => error);
  await clock.advance(500);
  expect(await impatient).toBeInstanceOf(StillReading);
  gate.resolve();
  expect(await running.sinceWithin(asked, 500)).toBeGreaterThan(USD);
});

test("once an hour all is read again, beside those who ask", async () => {
  const { running, begin, end, clock } = setup();
  const asked = { account: "acc", since: T0 };
  await running.since(asked);
  for (let minute = 0; minute < 40; minute += 10) {
    await clock.advance(10 * 60_000);
    await running.since(asked);
  }
  // This is written so late that no look finds it.
  await end(await begin({ from: T0 + 1000 }), T0 + 1000 + 360_000);
  await clock.advance(10 * 60_000);
  expect(await running.since(asked)).toBe(0n);
  await clock.advance(12 * 60_000);
  await running.since(asked);
  await turn();
  await clock.advance(LOOK);
  expect(await running.since(asked)).toBe(USD / 10n);
});

test("it is what a reading of everything finds, whatever begins and ends", async () => {
  const seed = 20260101;
  const random = new SeededRandom(seed);
  const chance = (n: number) => random.bytes(1)[0]! % n;
  const { running, exact, begin, end, clock } = setup();
  const open: string[] = [];
  const since = T0 + 60_000;
  open.push(await begin({ createdBy: "k1" }));
  await clock.advance(2 * 60_000);
  for (let step = 0; step < 300; step++) {
    if (chance(3) > 0) open.push(await begin({ createdBy: `k${chance(2)}`, from: clock.now() - chance(60) * 1000 }));
    const ending = open.length > 0 && chance(2) === 0 ? open.splice(chance(open.length), 1)[0]! : undefined;
    if (ending) await end(ending, clock.now() - (chance(5) === 0 ? 500 : 0), chance(6) === 0 ? "free" : undefined);
    if (chance(4) === 0) for (const id of open.splice(0, chance(3))) await end(id);
    await clock.advance(chance(9) * 1000);
    if (chance(3) > 0) continue;
    await clock.advance(LOOK);
    const window = { from: since, to: clock.now() };
    const found = [
      await running.since({ account: "acc", since }),
      await running.since({ account: "acc", key: "k1", since }),
    ];
    expect(found, `seed ${seed}, step ${step}`).toEqual([
      await exact.ofAccount("acc", window),
      await exact.ofKey("acc", "k1", window),
    ]);
  }
});
