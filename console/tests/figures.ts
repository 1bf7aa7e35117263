/** Measures how small and quick the console is, and prints it: `npm run console:figures`. It takes some minutes. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Browser, CDPSession, Page } from "playwright-core";
import { realClock, stay } from "../../platform/src/kernel/clock.ts";
import { barePage } from "./bare-page.ts";
import { startBrowser } from "./chromium.ts";
import { type Crowd, changes, crowd, delays, ENDPOINTS, followers, JOBS, PODS, paidBy } from "./figures-world.ts";
import { consolePlace } from "./place.ts";
import { visit, type Walk } from "./walk.ts";
import { enterByLink } from "./walk-people.ts";

const PROBE = fileURLToPath(new URL("fixtures/page-probe.js", import.meta.url));
/** With these, Chromium loads pages of its own for the address bar of each new window: more work than a page of the console has. */
const OF_ADDRESS_BAR = ["WebUIOmniboxPopup", "WebUIOmniboxFullPopup", "WebUIOmniboxAimPopup"];
const SLOWDOWN = 4;
const ROUNDS = 7;
const ROUNDS_OF_WORK = 3;
/** A page is still by then, also on the slower CPU. */
const LOAD_MS = 4000;
/** What is asked of each page on the slower CPU. */
const READY_MS = 1000;
const PHONE = { width: 375, height: 812 };
const STREAMS = 50;
const EVENTS_A_SECOND = 1000;
const STORM_MS = 10_000;
const SCROLL_MS = 4000;
const PROBES = 8;
const FRAME_MS = 1000 / 60;

interface Probe {
  headingAt: number;
  longTaskEnd: number;
  shifts: { value: number; sources: string[] }[];
}

const probeOf = (page: Page) => page.evaluate("probe") as Promise<Probe>;
const ms = (value: number) => `${Math.round(value)} ms`;
const at = (values: readonly number[], part: number) =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * part))]!;
const print = (line: string) => process.stdout.write(`${line}\n`);

interface Load {
  readyMs: number;
  /** Processor time of the main thread until the page is still. */
  workMs: number;
  /** Of compressed JavaScript. */
  bytes: number;
}

/** Loads a page with nothing in the browser's cache. Nothing is asked of it before it is still, since that would be work of its own. */
async function load(browser: Browser, walk: Walk, path: string, rate: number): Promise<Load> {
  await using page = await barePage(browser, walk.context, walk.at.server.url);
  await page.send("Page.enable");
  await page.send("Page.addScriptToEvaluateOnNewDocument", { source: await readFile(PROBE, "utf8") });
  await page.send("Emulation.setCPUThrottlingRate", { rate });
  await page.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.send("Page.navigate", { url: walk.at.server.url + path });
  await stay(LOAD_MS);
  const { metrics } = (await page.send("Performance.getMetrics")) as { metrics: { name: string; value: number }[] };
  // A page that shows nothing by then counts as never ready.
  const ready = await page.valueOf<number | null>(
    "probe.headingAt ? Math.max(probe.headingAt, probe.longTaskEnd) : null",
  );
  const readyMs = ready ?? Number.POSITIVE_INFINITY;
  const bytes = await page.valueOf<number>(
    `performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
  );
  return { readyMs, bytes, workMs: metrics.find(({ name }) => name === "TaskDuration")!.value * 1000 };
}

async function firstLoad(walk: Walk, pages: Record<string, string>): Promise<void> {
  const late: string[] = [];
  await using browser = await startBrowser(`--disable-features=${OF_ADDRESS_BAR}`);
  for (const [name, path] of Object.entries(pages)) {
    const slow = await rounds(ROUNDS, () => load(browser, walk, path, SLOWDOWN));
    const usual = await rounds(ROUNDS_OF_WORK, () => load(browser, walk, path, 1));
    const ready = slow.map(({ readyMs }) => readyMs);
    const work = at(
      usual.map(({ workMs }) => workMs),
      0.5,
    );
    if (at(ready, 0.5) > READY_MS) late.push(name);
    print(
      `first load of ${name}: ${Math.round(slow[0]!.bytes / 1000)} KB of compressed JavaScript; interactive after ` +
        `${ms(at(ready, 0))} at best, ${ms(at(ready, 0.5))} in the middle of ${ROUNDS}, on a CPU ${SLOWDOWN}x slower; ` +
        `work of the main thread ${ms(work)}, which is ${ms(work * SLOWDOWN)} there`,
    );
  }
  print(
    `interactive within ${ms(READY_MS)} in the middle: ${late.length === 0 ? "every page" : `all but ${late.join(", ")}`}`,
  );
}

async function rounds<T>(count: number, measure: () => Promise<T>): Promise<T[]> {
  const values: T[] = [];
  for (let round = 0; round < count; round++) values.push(await measure());
  return values;
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
}

/** The tasks of a page's main thread meanwhile, each in ms of processor time, from the browser's own trace. Other programs do not add to them. */
async function tasksOf(walk: Walk, page: Page, run: () => Promise<void>): Promise<number[]> {
  await walk.browser.startTracing(page, {
    categories: ["devtools.timeline", "toplevel", "blink.user_timing", "loading"],
  });
  await run();
  const { traceEvents } = JSON.parse(String(await walk.browser.stopTracing())) as { traceEvents: TraceEvent[] };
  const isTask = ({ name }: TraceEvent) => name.endsWith("RunTask");
  const threads = traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const tasks = threads.map((main) =>
    traceEvents.filter((event) => isTask(event) && event.pid === main.pid && event.tid === main.tid),
  );
  const own = tasks.toSorted((one, other) => other.length - one.length)[0]!;
  return own.map(({ tdur = 0 }) => tdur / 1000);
}

/** On the machine's own CPU, on a slower one, where parts of a page come later, and on a phone. */
async function layoutShift(walk: Walk, pages: Record<string, string>): Promise<void> {
  const session = await measured(walk.page);
  const desktop = walk.page.viewportSize()!;
  const places = [
    { where: "", rate: 1, size: desktop },
    { where: ` on a CPU ${SLOWDOWN}x slower`, rate: SLOWDOWN, size: desktop },
    { where: " on a phone", rate: SLOWDOWN, size: PHONE },
  ];
  for (const { where, rate, size } of places) {
    await walk.page.setViewportSize(size);
    await session.send("Emulation.setCPUThrottlingRate", { rate });
    for (const [name, path] of Object.entries(pages)) {
      await visit(walk, path);
      await walk.page.waitForTimeout(LOAD_MS);
      const { shifts } = await probeOf(walk.page);
      const sum = shifts.reduce((total, { value }) => total + value, 0);
      const why = shifts.map(({ value, sources }) => `${value.toFixed(4)} by ${sources.slice(0, 3).join(", ")}`);
      print(`layout shift of ${name}${where}: ${sum.toFixed(4)}${why.length > 0 ? ` (${why.join("; ")})` : ""}`);
    }
  }
  await walk.page.setViewportSize(desktop);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 1 });
}

const framesText = (frames: readonly number[]) =>
  `${frames.length} frames: ${at(frames, 0.5).toFixed(1)} ms in the middle, 95 % within ${at(frames, 0.95).toFixed(1)} ms, ` +
  `longest ${at(frames, 1).toFixed(1)} ms, ${frames.filter((frame) => frame > 20).length} longer than 20 ms`;

type Work = Record<
  "TaskDuration" | "ScriptDuration" | "LayoutDuration" | "RecalcStyleDuration" | "JSHeapUsedSize",
  number
>;

/** Times of the page's main thread itself, so that what else the machine does is not counted. */
async function measured(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return session;
}

async function workOf(session: CDPSession): Promise<Work> {
  const { metrics } = await session.send("Performance.getMetrics");
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value])) as Work;
}

/** What the page's main thread did meanwhile, in ms for each second. */
function workText(before: Work, after: Work, forMs: number): string {
  const part = (name: keyof Work) => Math.round(((after[name] - before[name]) * 1e6) / forMs);
  return (
    `main thread ${part("TaskDuration")} ms a second, of which scripts ${part("ScriptDuration")}, ` +
    `layout ${part("LayoutDuration")}, styles ${part("RecalcStyleDuration")}`
  );
}

/** Every row is read before it begins, so that nothing but scrolling is measured. */
async function scroll(walk: Walk, path: string): Promise<void> {
  const { page } = walk;
  await visit(walk, path);
  await page.locator("tbody tr").first().waitFor();
  const read = () => page.evaluate(`document.querySelector("main").scrollTo(0, 1e9)`);
  for (let tries = 0; tries < 60 && !(await page.getByText(String(JOBS), { exact: true }).count()); tries++) {
    await read();
    await page.waitForTimeout(300);
  }
  await page.evaluate(`document.querySelector("main").scrollTo(0, 0)`);
  await page.mouse.move(700, 600);
  await page.waitForTimeout(1000);
  const session = await measured(page);
  const slower = (rate: number) => session.send("Emulation.setCPUThrottlingRate", { rate });
  const turn = async (delta: number) => {
    const until = realClock.now() + SCROLL_MS;
    while (realClock.now() < until) await page.mouse.wheel(0, delta);
  };
  const speeds = [
    ["slowly", 40],
    ["fast", 400],
  ] as const;
  for (const [speed, delta] of speeds) {
    const before = await workOf(session);
    const watched = page.evaluate(`probe.watchFrames(${SCROLL_MS})`) as Promise<number[]>;
    await turn(delta);
    const frames = await watched;
    print(
      `${JOBS} jobs scrolled ${speed}: ${framesText(frames)}; ${workText(before, await workOf(session), SCROLL_MS)}`,
    );
    const tasks = await tasksOf(walk, page, () => turn(-delta));
    print(
      `  back again: the longest task took ${at(tasks, 1).toFixed(1)} ms of processor time, ` +
        `${tasks.filter((task) => task > FRAME_MS).length} of ${tasks.length} more than a frame has`,
    );
    await slower(SLOWDOWN);
    const seen = page.evaluate(`probe.watchFrames(${SCROLL_MS})`) as Promise<number[]>;
    await turn(delta);
    print(`  on a CPU ${SLOWDOWN}x slower: ${framesText(await seen)}`);
    await slower(1);
  }
}

/** All who follow, three pages among them, while records change. */
async function storm(walk: Walk, all: Crowd): Promise<void> {
  const pid = walk.at.server.process.pid!;
  const pages = { overview: "/", endpoints: "/serverless", Pods: "/pods" };
  const open: { name: string; page: Page; session: CDPSession }[] = [];
  for (const [name, path] of Object.entries(pages)) {
    const page = await walk.context.newPage();
    await visit({ ...walk, page }, path);
    const session = await measured(page);
    open.push({ name, page, session });
  }
  const following = followers(walk.at.server.url, walk.at.key, STREAMS - open.length);
  await walk.page.waitForTimeout(3000);
  for (const rate of [0, EVENTS_A_SECOND]) {
    const writing = rate > 0 ? changes(walk, all, rate) : undefined;
    await walk.page.waitForTimeout(rate > 0 ? 3000 : 0);
    const [before, events, made] = [await paidBy(pid), following.events(), writing?.made() ?? 0];
    const works = await Promise.all(open.map(({ session }) => workOf(session)));
    const began = realClock.now();
    const frames = (await open.at(-1)!.page.evaluate(`probe.watchFrames(${STORM_MS})`)) as number[];
    const forMs = realClock.now() - began;
    const after = await paidBy(pid);
    const seconds = forMs / 1000;
    print(
      `${ENDPOINTS} endpoints, ${PODS} Pods, ${STREAMS} streams, ${Math.round(((writing?.made() ?? 0) - made) / seconds)} writes and ` +
        `${Math.round((following.events() - events) / seconds)} events a second: server ` +
        `${Math.round(((after.cpuS - before.cpuS) / seconds) * 100)} % of a core, ${after.memoryMb} MB`,
    );
    for (const [place, { name, session }] of open.entries()) {
      const work = await workOf(session);
      print(
        `  page ${name}: ${workText(works[place]!, work, forMs)}; heap ${Math.round(work.JSHeapUsedSize / 1e6)} MB`,
      );
    }
    print(`  frames of the last page: ${framesText(frames)}`);
    const { toStream, toPage } = await delays(walk, PROBES);
    print(
      `  a single change reaches a stream ${ms(at(toStream, 0.5))} after its answer in the middle, ${ms(at(toStream, 1))} at most, and ` +
        `the page of its list ${ms(at(toPage, 0.5))} in the middle, ${ms(at(toPage, 1))} at most`,
    );
    await writing?.end();
  }
  await following.end();
}

await using walk = await consolePlace(() => undefined, { MILLRACE_RATE_LIMITS: "off" });
await walk.context.addInitScript({ path: PROBE });
await enterByLink(walk);
const all = await crowd(walk);
const jobs = `/serverless/${all.busy}/jobs`;
const allPages = {
  ...{ overview: "/", endpoints: "/serverless", jobs, endpoint: `/serverless/${all.busy}` },
  ...{ "new endpoint": "/serverless/new", "public endpoints": "/public-endpoints", Pods: "/pods" },
  ...{
    Pod: `/pods/${all.pods[0]}`,
    "new Pod": "/pods/new",
    billing: "/billing",
    account: "/account",
    catalog: "/catalog",
  },
};
// Parts and pages may be named, to be done sooner: `npm run console:figures -- load --pages=overview,jobs`.
const { values: options, positionals } = parseArgs({ options: { pages: { type: "string" } }, allowPositionals: true });
const chosen = options.pages?.split(",");
const pages = Object.fromEntries(Object.entries(allPages).filter(([name]) => chosen?.includes(name) ?? true));
const parts: Record<string, () => Promise<void>> = {
  scroll: () => scroll(walk, jobs),
  shift: () => layoutShift(walk, pages),
  load: () => firstLoad(walk, pages),
  storm: () => storm(walk, all),
};
/** All, or those that are named. */
const wanted = positionals.length > 0 ? positionals : Object.keys(parts);
for (const name of wanted) await parts[name]?.();
await walk[Symbol.asyncDispose]();
process.exit(0);
