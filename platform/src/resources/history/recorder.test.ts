/** What is kept of metrics: points over every range, through restarts and on several nodes, at no cost for what stays as it is. */
import { afterEach, expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { mortalStore } from "../../../tests/mortal-store.ts";
import { type Clock, FakeClock } from "../../kernel/clock.ts";
import { Histogram } from "../../kernel/histogram.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import { StoreAround } from "../../ports/store/store-around.ts";
import { columnsOf } from "./chart.ts";
import { keyOf, layouts, pointAt, type Range, type Subject, tiers } from "./model.ts";
import type { Sample } from "./point.ts";
import { Recorder, type Sources } from "./recorder.ts";
import { SeriesRecords } from "./records.ts";

const ENDPOINT: Subject = { kind: "endpoint", id: "ep", account: "acc" };

/** A store that counts what is written. */
class CountedStore extends StoreAround {
  writes: Write[] = [];
  commits = 0;
  override commit(writes: Write[]) {
    this.commits++;
    this.writes.push(...writes);
    return this.inner.commit(writes);
  }
}

interface NodeOptions {
  node?: string;
  mine?: () => boolean;
  days?: number;
  /** Nodes that are no longer there. */
  goneNodes?: readonly string[];
}

/** A recorder whose sources a test plays. */
function nodeOn(store: Store, clock: Clock, { node = "n1", mine, days, goneNodes = [] }: NodeOptions = {}) {
  const truth = new Map<string, { subject: Subject; values: Sample }>();
  let counted: { subject: Subject; counted: { sums: number[]; spreads: [number, number][][] } }[] = [];
  const gone = new Set<string>();
  const sources: Sources = {
    sample: async () => [...truth.values()],
    count: async () => counted.splice(0),
    isThere: async (subject) => !gone.has(keyOf(subject)),
    isGone: async (one) => goneNodes.includes(one),
  };
  const failures: unknown[] = [];
  const records = new SeriesRecords({ store });
  const failed = Object.assign((error: unknown) => void failures.push(error), {});
  const recorder = new Recorder({ records, sources, clock, failed, node, days, mine: mine && (async () => mine()) });
  return {
    recorder,
    failures,
    gone,
    is: (values: Sample, subject = ENDPOINT) => void truth.set(keyOf(subject), { subject, values }),
    isIdle: (subject = ENDPOINT) => void truth.delete(keyOf(subject)),
    counts(sums: number[], delays: number[] = [], subject = ENDPOINT) {
      const histogram = new Histogram();
      for (const ms of delays) histogram.add(ms);
      const spread = [...histogram.filled()] as [number, number][];
      counted = [...counted, { subject, counted: { sums, spreads: [spread, spread] } }];
    },
    async read(range: Range = "1h", subject = ENDPOINT) {
      const number = tiers.findIndex((tier) => tier.range === range);
      const tier = tiers[number]!;
      const now = clock.now();
      const first = pointAt(tier, now) - tier.points + 1;
      const key = keyOf(subject);
      const own = recorder.unwritten(key, number);
      const stored = (await records.stored(key, number)).filter(
        (one) => own.length === 0 || !one.isHead || one.node !== node,
      );
      const { span } = recorder;
      const spans = (await records.spans()).filter((one) => one.from !== span?.from || one.by !== span.by);
      return columnsOf({
        ...{ layout: layouts[subject.kind], tier, number, first, points: tier.points, since: 0, now },
        ...{ stored: [...stored, ...own], spans: span ? [...spans, span] : spans },
      });
    },
  };
}

const START = Date.UTC(2026, 0, 1);
const disposals: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of disposals.splice(0)) await one[Symbol.asyncDispose]();
});

function setup(options: Parameters<typeof nodeOn>[2] = {}) {
  const clock = new FakeClock(START);
  const store = new CountedStore(new MemoryStore());
  const mortal = mortalStore(store);
  const node = nodeOn(mortal.store, clock, options);
  // One that has crashed would wait for its store for ever.
  disposals.push({
    [Symbol.asyncDispose]: async () => void (mortal.isDead || (await node.recorder[Symbol.asyncDispose]())),
  });
  return { clock, store, crash: () => mortal.die(), ...node };
}

async function pass(clock: FakeClock, seconds: number) {
  for (let left = seconds; left > 0; left -= 10) {
    await clock.advance(Math.min(10, left) * 1000);
    await idle();
  }
}

const last = (values: (number | null)[] | undefined, many: number) => values!.slice(-many);

test("what is true shows at every point from when it was seen, and nothing is known of the time before", async () => {
  const { clock, is, read } = setup();
  is([3, 1, 3, 1]);
  await pass(clock, 40);
  is([5, 1, 5, 1]);
  await pass(clock, 20);
  const { jobsInQueue, jobsInQueueMost, workersRunning, cpu } = await read();
  expect(last(jobsInQueue, 7)).toEqual([null, 3, 3, 3, 3, 5, 5]);
  expect(last(jobsInQueueMost, 3)).toEqual([3, 5, 5]);
  expect(last(workersRunning, 7)).toEqual([null, 1, 1, 1, 1, 1, 1]);
  expect(last(cpu, 3)).toEqual([null, null, null]);
});

test("counts fall into the step in which they were made, with quantiles of their durations", async () => {
  const { clock, is, counts, read } = setup();
  is([1, 0, 1]);
  await pass(clock, 20);
  counts([4, 1, 2], [100, 100, 100, 100, 10_000]);
  await pass(clock, 30);
  const { jobsCompleted, jobsFailed, jobsRetried, delayP50, delayP95 } = await read();
  expect(last(jobsCompleted, 5)).toEqual([0, 4, 0, 0, 0]);
  expect(jobsFailed!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(1);
  expect(Math.max(...jobsRetried!.map((value) => value ?? 0))).toBe(2);
  const known = (values: (number | null)[] | undefined) => values!.filter((value) => value !== null);
  expect(known(delayP50)).toHaveLength(1);
  expect(Math.abs(known(delayP50)[0]! - 100)).toBeLessThan(10);
  expect(Math.abs(known(delayP95)[0]! - 10_000)).toBeLessThan(1000);
});

test("each range has its own step: a longer one shows means and sums of the shorter", async () => {
  const { clock, is, counts, read } = setup();
  is([10, 0, 10]);
  counts([6, 0, 0]);
  await pass(clock, 120);
  is([0, 0, 0]);
  counts([6, 0, 0]);
  await pass(clock, 130);
  for (const { range, points } of tiers) {
    const { jobsInQueue, jobsCompleted } = await read(range);
    expect(jobsInQueue).toHaveLength(points);
    expect(jobsCompleted!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(12);
  }
  const day = await read("24h");
  expect(last(day.jobsInQueue, 2)[0]).toBeCloseTo(5, 0);
  expect(last(day.jobsInQueueMost, 2)).toEqual([10, 0]);
});

test("an idle hour before a burst counts in the mean of a long step", async () => {
  const { clock, is, read } = setup();
  await pass(clock, 3000);
  is([60, 0, 60]);
  await pass(clock, 600);
  const { jobsInQueue } = await read("30d");
  expect(last(jobsInQueue, 1)[0]).toBeCloseTo(10, 0);
});

test("a restart goes on with open points, and the time in between is unknown", async () => {
  const { clock, store, is, counts, recorder } = setup();
  is([2, 0, 2]);
  counts([5, 0, 0]);
  await pass(clock, 60);
  await recorder[Symbol.asyncDispose]();
  await clock.advance(60_000);
  const next = nodeOn(store, clock);
  disposals.push(next.recorder);
  next.counts([1, 0, 0]);
  await pass(clock, 30);
  const { jobsInQueue, jobsCompleted } = await next.read();
  expect(last(jobsInQueue, 10).map((value) => value ?? "?")).toEqual([2, "?", "?", "?", "?", "?", "?", 0, 0, 0]);
  expect(jobsCompleted!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(6);
  const week = await next.read("7d");
  expect(last(week.jobsCompleted, 1)).toEqual([6]);
});

test("a crash loses at most the last minute", async () => {
  const { clock, store, is, counts, crash } = setup();
  is([2, 0, 2]);
  for (let minute = 0; minute < 5; minute++) {
    counts([1, 0, 0]);
    await pass(clock, 60);
  }
  crash();
  const next = nodeOn(store, clock);
  disposals.push(next.recorder);
  for (const range of ["1h", "24h", "30d"] as const) {
    const { jobsCompleted } = await next.read(range);
    expect(jobsCompleted!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBeGreaterThanOrEqual(4);
  }
});

test("a value that a crash left behind does not live on after it", async () => {
  const { clock, store, is, crash } = setup();
  is([7, 0, 7]);
  await pass(clock, 61);
  crash();
  const next = nodeOn(store, clock);
  disposals.push(next.recorder);
  await pass(clock, 600);
  for (const range of ["1h", "24h"] as const) expect(last((await next.read(range)).jobsInQueue, 2).at(-1)).toBe(0);
});

test("resources that are idle, or stay as they are, are not written again", async () => {
  const { clock, store, is } = setup();
  for (let n = 0; n < 50; n++) is([0, 0, 0, 0, 1], { ...ENDPOINT, id: `ep${n}` });
  await pass(clock, 2 * 7200 + 240);
  store.writes = [];
  store.commits = 0;
  await pass(clock, 1800);
  expect(store.writes.every((write) => write.do !== "insert" && write.kind === "metrics-spans")).toBe(true);
  expect(store.commits).toBeLessThanOrEqual(30);
});

test("many that change are written in one commit for a hundred of them", async () => {
  const { clock, store, counts } = setup();
  await pass(clock, 60);
  store.commits = 0;
  for (let n = 0; n < 300; n++) counts([1, 0, 0], [], { ...ENDPOINT, id: `ep${n}` });
  await pass(clock, 60);
  expect(store.commits).toBe(4);
});

test("what is kept is bounded however long it goes on", async () => {
  const { clock, store, counts } = setup();
  let before = 0;
  for (const hours of [3, 3]) {
    for (let minute = 0; minute < hours * 60; minute++) {
      counts([minute, 1, 0], [minute]);
      await pass(clock, 60);
    }
    const kept = await store.list({ kind: "metrics-series", limit: 1000 });
    if (before > 0) expect(kept.length - before).toBeLessThanOrEqual(2);
    before = kept.length;
  }
  expect(before).toBeLessThanOrEqual(1 + 4 * 7);
});

test("on two nodes counts add up, and one of them says what is true", async () => {
  let holder = "n1";
  const { clock, store, is, counts, read } = setup({ mine: () => holder === "n1" });
  const other = nodeOn(store, clock, { node: "n2", mine: () => holder === "n2" });
  disposals.push(other.recorder);
  for (const node of [{ is, counts }, other]) node.is([4, 0, 4]);
  counts([10, 0, 0], [50]);
  other.counts([7, 0, 0], [50]);
  await pass(clock, 120);
  holder = "n2";
  other.is([6, 0, 6]);
  await pass(clock, 120);
  for (const node of [{ read }, other]) {
    const { jobsCompleted, jobsInQueue } = await node.read();
    expect(jobsCompleted!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(17);
    const seen = jobsInQueue!.filter((value) => value !== null);
    expect([...new Set(seen)]).toEqual([4, 6]);
  }
});

test("a removed resource takes its series with it, and what comes late is not kept", async () => {
  const { clock, store, is, isIdle, counts, gone, failures } = setup();
  const other = { ...ENDPOINT, id: "other" };
  for (const subject of [ENDPOINT, other]) is([1, 0, 1], subject);
  await pass(clock, 120);
  isIdle();
  gone.add(keyOf(ENDPOINT));
  await new SeriesRecords({ store }).remove(keyOf(ENDPOINT));
  counts([1, 0, 0]);
  await pass(clock, 240);
  const kept = await store.list({ kind: "metrics-series", limit: 1000 });
  expect(new Set(kept.map(({ doc }) => doc.of))).toEqual(new Set([keyOf(other)]));
  expect(failures).toEqual([]);
});

test("what a removed resource left all the same goes minutes after the next start, and within a day otherwise", async () => {
  const { clock, store, is, isIdle, gone } = setup();
  is([1, 0, 1]);
  await pass(clock, 120);
  isIdle();
  gone.add(keyOf(ENDPOINT));
  await pass(clock, 300);
  expect(await store.list({ kind: "metrics-series", limit: 10 })).not.toEqual([]);
  await pass(clock, 300);
  expect(await store.list({ kind: "metrics-series", limit: 10 })).toEqual([]);
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A node over days: it ticks when the test says so, every two hours, and not every ten seconds. */
function setupDays(options: NodeOptions = {}, { store = new MemoryStore(), at = 0 } = {}) {
  const clock = { at, now: () => START + clock.at, monotonic: () => clock.at, after: () => ({ cancel: () => {} }) };
  const node = nodeOn(store, clock, options);
  const pass = async (days: number) => {
    for (let hours = 0; hours < days * 24; hours += 2) {
      clock.at += 2 * HOUR_MS;
      await node.recorder.tick(clock.now());
    }
  };
  return { ...node, store, clock, pass };
}

const seriesOf = async (store: Store, node: string) =>
  (await store.list({ kind: "metrics-series", limit: 1000 })).filter(({ doc }) => doc.node === node);

test("a shorter time in the settings removes what is older, but not the value that has been true ever since", async () => {
  const { clock, store, is, counts, read, pass } = setupDays({ days: 2 });
  is([7, 0, 7]);
  await pass(1);
  for (let day = 0; day < 24; day++) {
    counts([1, 0, 0], [50]);
    await pass(1);
  }
  const coarsest = 3;
  const blockMs = 60 * tiers[coarsest].stepMs;
  const blocks = (await seriesOf(store, "n1")).filter(({ doc }) => doc.tier === coarsest);
  const ends = blocks.map(({ doc }) => ((doc.block as number) + 1) * blockMs);
  expect(ends.length).toBeGreaterThan(0);
  expect(Math.min(...ends)).toBeGreaterThan(clock.now() - 3 * DAY_MS);
  await pass(40);
  expect(last((await read("30d")).jobsInQueue, 12)).toEqual(Array(12).fill(7));
});

test("the series of a node that is gone stay as long as those of others, and then are removed", async () => {
  const first = setupDays();
  first.is([1, 0, 1]);
  first.counts([5, 0, 0]);
  await first.pass(1);
  const next = setupDays({ node: "n2", goneNodes: ["n1"] }, { store: first.store, at: first.clock.at });
  next.is([2, 0, 2]);
  await next.pass(20);
  expect(await seriesOf(next.store, "n1")).not.toEqual([]);
  expect((await next.read("30d")).jobsCompleted).toContain(5);
  await next.pass(20);
  expect(await seriesOf(next.store, "n1")).toEqual([]);
  expect(await seriesOf(next.store, "n2")).not.toEqual([]);
});

test("while nothing can be written the duty says so, and the points come later", async () => {
  const { clock, store, is, counts, failures, read } = setup();
  is([1, 0, 1]);
  const write = store.commit.bind(store);
  store.commit = async () => {
    throw new Error("the disk is away");
  };
  counts([3, 0, 0]);
  await pass(clock, 300);
  expect(failures.length).toBeGreaterThan(0);
  store.commit = write;
  await pass(clock, 120);
  expect((await store.list({ kind: "metrics-series", limit: 10 })).length).toBeGreaterThan(0);
  expect((await read()).jobsCompleted!.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(3);
});
