/** How lines of logs are kept, ordered, searched and coloured. */
import { expect, test } from "vitest";
import { filtered, LogLines, levelOf, logText, plainText, spansOf } from "./log-lines.ts";

const line = (raw: string, at = 0, from = "w1") => ({ raw, at, from, isSystem: false });
const shown = (raw: string, search?: string) => spansOf({ raw, text: plainText(raw) }, search);

test("lines of several sources stand in the order of their times", () => {
  const log = new LogLines();
  log.add(line("b", 2, "w1"));
  log.add(line("d", 4, "w1"));
  log.flush();
  log.add(line("c", 3, "w2"));
  log.add(line("a", 1, "w2"));
  log.flush();
  expect(log.kept.lines.map(({ text }) => text)).toEqual(["a", "b", "c", "d"]);
});

test("lines of the same time stay in the order in which they came", () => {
  const log = new LogLines();
  for (const text of ["one", "two"]) log.add(line(text, 5));
  log.flush();
  log.add(line("three", 5));
  log.flush();
  expect(log.kept.lines.map(({ text }) => text)).toEqual(["one", "two", "three"]);
});

test("a log that breaks off says so among the warnings", () => {
  const log = new LogLines();
  const text = "the log breaks off: node gpu-2 is not reachable";
  log.add({ ...line(text), isSystem: true });
  log.add(line(text));
  log.flush();
  expect(log.kept.lines.map(({ level }) => level)).toEqual(["warn", undefined]);
});

test("only the last lines are kept, and it is known how many were dropped", () => {
  const log = new LogLines({ lines: 3, characters: 1000 });
  for (let i = 0; i < 5; i++) log.add(line(`line ${i}`, i));
  log.flush();
  expect(log.kept.lines.map(({ text }) => text)).toEqual(["line 2", "line 3", "line 4"]);
  expect(log.kept.dropped).toBe(2);
});

test("long lines are dropped sooner, and the newest one never", () => {
  const log = new LogLines({ lines: 100, characters: 25 });
  for (let i = 0; i < 5; i++) log.add(line(String(i).repeat(10), i));
  log.flush();
  expect(log.kept.lines.map(({ text }) => text[0])).toEqual(["3", "4"]);
  log.add(line("x".repeat(100), 9));
  log.flush();
  expect(log.kept.lines).toHaveLength(1);
});

test("nothing new makes no new array", () => {
  const log = new LogLines();
  log.add(line("a"));
  expect(log.flush()).toBe(true);
  const { kept } = log;
  expect(log.flush()).toBe(false);
  expect(log.kept).toBe(kept);
});

test.each([
  ["ERROR: no such file", "error"],
  ["2026-01-01 10:00:00 [warn] slow", "warn"],
  ['{"level":"error","msg":"x"}', "error"],
  ["level=debug msg=x", "debug"],
  ["Traceback (most recent call last):", "error"],
  ['{"level":"info","msg":"no error"}', "info"],
  ["listening on 8000", undefined],
])("the level of %j is %s", (text, level) => {
  expect(levelOf(text)).toBe(level);
});

test("colours of a terminal become those of the palette", () => {
  expect(shown("\u001b[31mred\u001b[0m plain \u001b[1;38;5;46mgreen\u001b[0m")).toEqual([
    { text: "red", color: "red" },
    { text: " plain " },
    { text: "green", color: "green", isBold: true },
  ]);
});

test("of a progress bar the last state is shown, and other control characters are not", () => {
  expect(plainText("10%\r50%\r100%\r")).toBe("100%");
  expect(plainText("\u001b]0;title\u0007ab\u0008c\u001b[2K")).toBe("abc");
});

test("a match is marked across colours, in upper and lower case", () => {
  expect(shown("fa\u001b[31mIL\u001b[0med, Failed", "failed")).toEqual([
    { text: "fa", isMatch: true },
    { text: "IL", color: "red", isMatch: true },
    { text: "ed", isMatch: true },
    { text: ", " },
    { text: "Failed", isMatch: true },
  ]);
});

test("a search is no pattern", () => {
  expect(shown("a.b axb", "a.b").filter(({ isMatch }) => isMatch)).toEqual([{ text: "a.b", isMatch: true }]);
});

test("lines are filtered by source, level and search", () => {
  const log = new LogLines();
  log.add(line("ERROR one", 1, "w1"));
  log.add(line("WARN two", 2, "w2"));
  log.add(line("three", 3, "w2"));
  log.flush();
  const { lines } = log.kept;
  const texts = (filter: Parameters<typeof filtered>[1]) => filtered(lines, filter).map(({ text }) => text);
  expect(filtered(lines, {})).toBe(lines);
  expect(texts({ from: new Set(["w2"]) })).toEqual(["WARN two", "three"]);
  expect(texts({ level: "warn" })).toEqual(["ERROR one", "WARN two"]);
  expect(texts({ level: "error" })).toEqual(["ERROR one"]);
  expect(texts({ only: "THREE" })).toEqual(["three"]);
  expect(logText(lines.slice(0, 1), (from) => from)).toBe("1970-01-01T00:00:00.001Z w1 ERROR one\n");
});
