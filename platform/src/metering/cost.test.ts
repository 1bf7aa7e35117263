/** What an account costs, from spans of every kind and of older releases, exact however time is divided. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { realRandom, SeededRandom } from "../kernel/random.ts";
import { Collection } from "../ports/store/collection.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import type { Selection } from "../ports/store/store.ts";
import { Costs } from "./cost.ts";
import { type KeptSpan, spans } from "./span.ts";

const T0 = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const USD = 1_000_000_000n;

/** Counts the records that are read. */
class CountingStore extends MemoryStore {
  read = 0;

  override async list(listing: Selection & { limit: number }) {
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
    costs: new Costs({ store, clock }),
    async span(given: Partial<KeptSpan> & { account?: string } = {}) {
      const { account = "acc", ...said } = given;
      const doc = { ...SOMETHING, ...said };
      await kept.insert({ id: `s.${++number}`, account, createdAt: doc.from, doc });
    },
  };
}

const SOMETHING: KeptSpan = {
  ...{ instance: "i", kind: "pod", owner: "p", createdBy: "k", phase: "running", dataCenter: null, image: "" },
  ...{ template: null, gpuType: null, gpuCount: 0, flavor: null, vcpu: 0, memoryMb: 0, diskGb: 0 },
  price: { gpu: 1_000_000_000, cpu: 0, disk: 0, storage: 0 },
  ...{ from: T0, to: null },
};

test("a span costs its price by the hour, and one that is open counts until now", async () => {
  const { costs, span, clock } = setup();
  await span({ to: T0 + 2 * HOUR });
  await span({ from: T0 + HOUR });
  await clock.advance(3 * HOUR);
  expect(await costs.ofAccount("acc", { from: T0, to: T0 + DAY })).toBe(4n * USD);
  expect(await costs.ofAccount("acc", { from: T0 + HOUR, to: T0 + 2 * HOUR })).toBe(2n * USD);
});

test("a GB for a month of 730 hours costs what its price says, to the last digit", async () => {
  const { costs, span, clock } = setup();
  await span({ price: { gpu: 0, cpu: 0, disk: 0, storage: 10_000_000_000 } });
  await clock.advance(730 * HOUR);
  expect(await costs.ofAccount("acc", { from: 0, to: clock.now() })).toBe(10n * USD);
});

test("nothing is paid for what is free, nor for another account", async () => {
  const { costs, span, clock } = setup();
  await span({ free: "frozen" });
  await span({ free: "failed start", to: T0 + HOUR });
  await span({ account: "other" });
  await clock.advance(HOUR);
  expect(await costs.ofAccount("acc", { from: 0, to: clock.now() })).toBe(0n);
});

test("what an API key caused is what was made by it", async () => {
  const { costs, span, clock } = setup();
  await span({ createdBy: "k" });
  await span({ createdBy: "other" });
  await span({ createdBy: null });
  await clock.advance(HOUR);
  const window = { from: T0, to: clock.now() };
  expect(await costs.ofKey("acc", "k", window)).toBe(USD);
  expect(await costs.thisMonth({ account: "acc", key: "k" })).toBe(USD);
  expect(await costs.thisMonth({ account: "acc" })).toBe(3n * USD);
});

test("what an older release wrote counts, with the disk in its price by the hour", async () => {
  const { costs, store, clock } = setup();
  const { createdBy: _, price: __, ...about } = SOMETHING;
  const doc = { ...about, price: { gpu: 2_000_000_000, cpu: 0, disk: 500_000_000 }, v: 1 };
  const listed = [{ name: "instance", value: "i" }];
  const record = { kind: "span", id: "i.1", account: "acc", createdAt: T0, doc, unique: [], listed };
  await store.commit([{ do: "insert", record }]);
  const format = {
    kind: "format",
    id: "span",
    account: "*",
    createdAt: 0,
    doc: { format: 1, keysVersion: 1 },
    unique: [],
  };
  await store.commit([{ do: "insert", record: format }]);
  await new Collection(store, spans).prepare();
  await clock.advance(40 * DAY);
  const [hour, month] = [T0 + 35 * DAY, Date.UTC(2026, 1, 1)];
  expect(await costs.ofAccount("acc", { from: hour, to: hour + HOUR })).toBe(2_500_000_000n);
  expect(await costs.ofAccount("acc", { from: month, to: month + DAY })).toBe(60n * USD);
});

test("this month is read at most every five seconds, and what is open goes on meanwhile", async () => {
  const { costs, span, clock, store } = setup();
  await span();
  await clock.advance(1000);
  await costs.thisMonth({ account: "acc" });
  const { read } = store;
  await clock.advance(4000);
  expect(await costs.thisMonth({ account: "acc" })).toBe((USD * 5000n + BigInt(HOUR) / 2n) / BigInt(HOUR));
  expect(store.read).toBe(read);
  await clock.advance(2000);
  await costs.thisMonth({ account: "acc" });
  expect(store.read).toBeGreaterThan(read);
});

test("of the past only what reaches into the window is read", async () => {
  const { costs, span, clock, store } = setup();
  for (let i = 0; i < 1200; i++) await span({ from: T0 + i * HOUR, to: T0 + (i + 1) * HOUR });
  await span({ from: T0 + 1000, to: T0 + 70 * DAY });
  await span({ from: T0 + 2000 });
  await clock.advance(80 * DAY);
  store.read = 0;
  const march = Date.UTC(2026, 2, 1);
  expect(await costs.ofAccount("acc", { from: march, to: march + DAY })).toBe(48n * USD);
  // These are the two spans that reach into the window, and at most one page of others.
  expect(store.read).toBeLessThanOrEqual(502);
});

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());

test(`pieces of time add up to the whole, wherever they are cut (seed ${seed})`, async () => {
  const random = new SeededRandom(seed);
  const { costs, span, clock } = setup();
  for (let i = 0; i < 200; i++) {
    const from = T0 + random.below(100 * DAY);
    const to = random.below(3) === 0 ? null : from + random.below(random.below(60 * DAY) + 1);
    const price = {
      gpu: random.below(5e9),
      cpu: random.below(1e9),
      disk: random.below(1e9),
      storage: random.below(1e12),
    };
    await span({ from, to, price });
  }
  await clock.advance(110 * DAY);
  const whole = await costs.ofAccount("acc", { from: T0, to: T0 + 110 * DAY });
  const cuts = [0, ...Array.from({ length: 60 }, () => random.below(110 * DAY)), 110 * DAY].toSorted((a, b) => a - b);
  let sum = 0n;
  for (const [i, cut] of cuts.slice(1).entries())
    sum += await costs.ofAccount("acc", { from: T0 + cuts[i]!, to: T0 + cut });
  expect(sum).toBe(whole);
  expect(whole).toBeGreaterThan(0n);
});

test("what is open costs so much by the hour: compute, disks of the machine, and network volumes", async () => {
  const { costs, span, clock } = setup();
  await span({ price: { gpu: 1_000_000_000, cpu: 500_000_000, disk: 0, storage: 730 } });
  await span({ kind: "volume", price: { gpu: 0, cpu: 0, disk: 0, storage: 1460 } });
  await span({ to: T0 + HOUR });
  await span({ free: "frozen" });
  await span({ account: "other" });
  await clock.advance(2 * HOUR);
  expect(await costs.perHour("acc")).toEqual({ compute: 1_500_000_000, localStorage: 1, networkStorage: 2 });
});
