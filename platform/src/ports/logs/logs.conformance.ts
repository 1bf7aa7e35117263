/** What every Logs guarantees. This suite defines the port and runs against each adapter. */
import { describe, expect, test } from "vitest";
import type { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { followConformance } from "./follow.conformance.ts";
import type { From, LogLine, LogSource, Logs, NewLine } from "./logs.ts";

export const STREAM = "worker/ep/w1";
export const NOW = 1_750_000_000_000;

export interface OpenedLogs extends AsyncDisposable {
  logs: Logs;
  /** The clock of the logs. */
  clock: FakeClock;
  /** Closes the logs and opens them again on the same data, or says why this adapter cannot. */
  reopen: (() => Promise<Logs>) | { cannot: string };
}

export type OpenLogs = () => Promise<OpenedLogs>;

/** Makes lines whose times are one millisecond apart. */
export function linesOf(...texts: string[]): NewLine[] {
  return texts.map((line, i) => ({ source: "container", ts: NOW + i, line }));
}

export const said = (line: string, ts = NOW): NewLine => ({ source: "system", ts, line });

export const texts = (lines: LogLine[]) => lines.map(({ line }) => line);

export function read(logs: Logs, from: From = { tail: 5000 }, source?: LogSource): Promise<LogLine[]> {
  return logs.read(STREAM, { from, source });
}

export function logsConformance(name: string, open: OpenLogs): void {
  describe.concurrent(`${name} is a Logs`, () => {
    describe("append and read", () => readCases(open));
    describe("position", () => positionCases(open));
    describe("follow", () => followConformance(open));
    describe("removal and expiry", () => removalCases(open));
    describe("restarts", () => restartCases(open));
  });
}

function readCases(open: OpenLogs): void {
  test("lines are read as they were appended, in their order, numbered from 1", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a", "b"));
    opened.logs.append(STREAM, [said("worker started", NOW + 5)]);
    expect(await read(opened.logs)).toEqual([
      { source: "container", ts: NOW, line: "a", sequence: 1 },
      { source: "container", ts: NOW + 1, line: "b", sequence: 2 },
      { source: "system", ts: NOW + 5, line: "worker started", sequence: 3 },
    ]);
  });

  test("streams are apart, also where one is named like the beginning of another", async () => {
    await using opened = await open();
    for (const stream of ["a", "a/b", "a/bc", "a/b/c"]) opened.logs.append(stream, linesOf(stream));
    for (const stream of ["a", "a/b", "a/bc", "a/b/c"])
      expect(texts(await opened.logs.read(stream, { from: { tail: 9 } }))).toEqual([stream]);
  });

  test("the last lines can be read, of both sources or one", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, [...linesOf("a", "b"), said("c"), ...linesOf("d"), said("e")]);
    expect(texts(await read(opened.logs, { tail: 2 }))).toEqual(["d", "e"]);
    expect(texts(await read(opened.logs, { tail: 2 }, "container"))).toEqual(["b", "d"]);
    expect(texts(await read(opened.logs, { tail: 9 }, "system"))).toEqual(["c", "e"]);
    expect(texts(await read(opened.logs, { tail: 0 }))).toEqual([]);
  });

  test("lines since a time begin with the first of that time or later", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a", "b", "c"));
    expect(texts(await read(opened.logs, { since: NOW + 1 }))).toEqual(["b", "c"]);
    expect(texts(await read(opened.logs, { since: 0 }))).toEqual(["a", "b", "c"]);
    expect(texts(await read(opened.logs, { since: NOW + 3 }))).toEqual([]);
  });

  test("what stands behind such a line is read whatever its time: a clock may have been set back", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, [said("noon", NOW), said("set back", NOW - 60_000), said("later", NOW + 1)]);
    expect(texts(await read(opened.logs, { since: NOW }))).toEqual(["noon", "set back", "later"]);
  });

  test("reading goes on behind a line by its sequence, also among lines of the same time", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, [said("a"), said("b"), said("c")]);
    expect(texts(await read(opened.logs, { after: { ts: NOW, sequence: 2 } }))).toEqual(["c"]);
    expect(texts(await read(opened.logs, { after: { ts: NOW, sequence: 3 } }))).toEqual([]);
  });

  test("behind a line named by its time alone, or by a sequence that never was, the time counts", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a", "b", "c"));
    expect(texts(await read(opened.logs, { after: { ts: NOW + 1 } }))).toEqual(["c"]);
    expect(texts(await read(opened.logs, { after: { ts: NOW, sequence: 99 } }))).toEqual(["b", "c"]);
  });

  test.for([[""], ["two\nlines"], ["\r\ttab"], ["\0"], ["\ud800"], ["🪵"], ['{"n":1,"l":[]}'], ["\u2028"]])(
    "%j comes back as it was",
    async ([line]) => {
      await using opened = await open();
      opened.logs.append(STREAM, linesOf(line!, "next"));
      expect(texts(await read(opened.logs))).toEqual([line, "next"]);
    },
  );

  test("a long line is continued on the next ones", async () => {
    await using opened = await open();
    const text = "0123456789".repeat(10_000);
    opened.logs.append(STREAM, linesOf("before", text, "after"));
    const [before, ...rest] = texts(await read(opened.logs));
    expect([before, rest.at(-1)]).toEqual(["before", "after"]);
    expect(rest.slice(0, -1).join("")).toBe(text);
    expect(Math.max(...rest.map(({ length }) => length))).toBe(16_384);
  });

  test("thousands of lines of every length are all there, from wherever they are read", async () => {
    await using opened = await open();
    const random = new SeededRandom(7);
    const lines = Array.from({ length: 4000 }, (_, i) => `${i} ${"x".repeat(random.bytes(1)[0]! * (i % 7))}`);
    for (let i = 0; i < lines.length; i += 50) {
      opened.logs.append(STREAM, linesOf(...lines.slice(i, i + 50)));
      await opened.logs.has(STREAM);
    }
    /** Whether exactly these lines are read. A failure does not print megabytes. */
    const isRead = async (from: From, wanted: string[]) =>
      texts(await read(opened.logs, from)).join("\n") === wanted.join("\n");
    expect(await isRead({ tail: 5000 }, lines)).toBe(true);
    for (const sequence of [1, 49, 50, 51, 1999, 3999])
      expect(await isRead({ after: { ts: 0, sequence } }, lines.slice(sequence))).toBe(true);
    for (const tail of [1, 51, 3000]) expect(await isRead({ tail }, lines.slice(-tail))).toBe(true);
  });

  test("a stream that never was is empty and is not there", async () => {
    await using opened = await open();
    expect(await read(opened.logs)).toEqual([]);
    expect(await read(opened.logs, { since: 0 })).toEqual([]);
    expect(await opened.logs.has(STREAM)).toBe(false);
    expect(await opened.logs.position(STREAM)).toBeUndefined();
  });

  test.for([
    [".."],
    ["../a"],
    ["a/../b"],
    ["/a"],
    ["a//b"],
    ["a/"],
    [""],
    ["a\0b"],
    ["a.log"],
    ["a b"],
    ["a".repeat(101)],
  ])("%j names no stream: nothing can be added to it, and nothing is there", async ([name]) => {
    await using opened = await open();
    expect(() => opened.logs.append(name!, linesOf("a"))).toThrow("cannot name a log stream");
    expect(await opened.logs.has(name!)).toBe(false);
    expect(await opened.logs.read(name!, { from: { tail: 1 } })).toEqual([]);
    expect(await opened.logs.position(name!)).toBeUndefined();
  });
}

function positionCases(open: OpenLogs): void {
  test("the position is that of the newest lines that came with one", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a"), "100");
    opened.logs.append(STREAM, linesOf("b"), "200");
    opened.logs.append(STREAM, [said("worker is draining")]);
    expect(await opened.logs.position(STREAM)).toBe("200");
  });

  test("a position may come without lines", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a"), "100");
    opened.logs.append(STREAM, [], "150");
    opened.logs.append(STREAM, linesOf("b"));
    expect(await opened.logs.position(STREAM)).toBe("150");
    expect((await read(opened.logs)).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });
}

function removalCases(open: OpenLogs): void {
  test("a removed stream is gone, and one of the same name begins anew", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a", "b"), "100");
    await opened.logs.remove(STREAM);
    expect(await opened.logs.has(STREAM)).toBe(false);
    expect(await opened.logs.position(STREAM)).toBeUndefined();
    opened.logs.append(STREAM, linesOf("c"));
    expect(await read(opened.logs)).toEqual([{ source: "container", ts: NOW, line: "c", sequence: 1 }]);
  });

  test("what is appended while a stream is being removed is not removed with it", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("old"));
    const removed = opened.logs.remove(STREAM);
    opened.logs.append(STREAM, linesOf("new"));
    await removed;
    expect(texts(await read(opened.logs))).toEqual(["new"]);
  });

  test("every stream below a path is removed, and no other", async () => {
    await using opened = await open();
    const names = ["worker/ep", "worker/ep/a", "worker/ep/b/c", "worker/ep2/a", "worker/other"];
    for (const name of names) opened.logs.append(name, linesOf(name));
    await opened.logs.remove("worker/ep/");
    const left = await Promise.all(names.map((name) => opened.logs.has(name)));
    expect(names.filter((_, i) => left[i])).toEqual(["worker/ep", "worker/ep2/a", "worker/other"]);
  });

  test("the streams directly below a path are known, as many as asked for", async () => {
    await using opened = await open();
    for (const name of ["worker/ep/a", "worker/ep2/x", "worker/ep/b", "worker/ep/c"])
      opened.logs.append(name, linesOf(name));
    expect((await opened.logs.newest("worker/ep/", 9)).toSorted()).toEqual(["a", "b", "c"]);
    expect(await opened.logs.newest("worker/ep/", 2)).toHaveLength(2);
    await opened.logs.remove("worker/ep/c");
    expect((await opened.logs.newest("worker/ep/", 9)).toSorted()).toEqual(["a", "b"]);
    expect(await opened.logs.newest("worker/nobody/", 9)).toEqual([]);
  });

  test("removing what is not there is no error", async () => {
    await using opened = await open();
    await expect(opened.logs.remove("worker/nobody")).resolves.toBeUndefined();
    await expect(opened.logs.remove("worker/nobody/")).resolves.toBeUndefined();
  });

  test("streams to which nothing was added since a time are removed, and the others are not", async () => {
    await using opened = await open();
    opened.logs.append("w/old/a", [said("1", NOW), said("2", NOW + 999)]);
    opened.logs.append("w/old/b", [said("1", NOW)]);
    opened.logs.append("w/new/a", [said("1", NOW), said("2", NOW + 1000)]);
    opened.logs.append("stays/a", [said("1", NOW)]);
    await opened.logs.expire("w/", NOW + 1000);
    const left = await Promise.all(["w/old/a", "w/old/b", "w/new/a", "stays/a"].map((name) => opened.logs.has(name)));
    expect(left).toEqual([false, false, true, true]);
    expect(texts(await opened.logs.read("w/new/a", { from: { tail: 9 } }))).toEqual(["1", "2"]);
  });
}

function restartCases(open: OpenLogs): void {
  test("lines, their numbers and the position are there after a restart", async (context) => {
    await using opened = await open();
    const { logs, reopen } = opened;
    if (typeof reopen !== "function") return context.skip(reopen.cannot);
    logs.append(STREAM, linesOf("a", "b"), "100");
    logs.append(STREAM, [said("c")]);
    const again = await reopen();
    expect(await again.position(STREAM)).toBe("100");
    expect(await again.has(STREAM)).toBe(true);
    again.append(STREAM, linesOf("d"));
    expect((await read(again)).map(({ sequence, line }) => [sequence, line])).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "c"],
      [4, "d"],
    ]);
    expect(await again.position(STREAM)).toBe("100");
  });

  test("streams of an earlier run are removed and expire like others", async (context) => {
    await using opened = await open();
    const { logs, reopen } = opened;
    if (typeof reopen !== "function") return context.skip(reopen.cannot);
    for (const name of ["a/1", "a/2", "b/1"]) logs.append(name, linesOf(name));
    const again = await reopen();
    await again.remove("a/");
    expect(await Promise.all(["a/1", "a/2", "b/1"].map((name) => again.has(name)))).toEqual([false, false, true]);
    await again.expire("b/", NOW + 1);
    expect(await again.has("b/1")).toBe(false);
  });
}
