/** Time: what a test may rely on when it moves the fake clock, and how instants are read and written. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { FakeClock, parseTimestamp, realClock, sleep, timestamp } from "./clock.ts";

describe("the fake clock", () => {
  test("stands still until it is moved", async () => {
    const clock = new FakeClock(1000);
    const ran: string[] = [];
    clock.after(0, () => ran.push("due at once"));
    expect(clock.now()).toBe(1000);
    expect(clock.monotonic()).toBe(0);
    expect(ran).toEqual([]);
    await clock.advance(0);
    expect(ran).toEqual(["due at once"]);
  });

  test("runs timers in the order of their times, and in the order they were set where the times are equal", async () => {
    const clock = new FakeClock();
    const ran: string[] = [];
    clock.after(20, () => ran.push("late"));
    clock.after(10, () => ran.push("early, set first"));
    clock.after(10, () => ran.push("early, set second"));
    clock.after(-5, () => ran.push("overdue"));
    await clock.advance(20);
    expect(ran).toEqual(["overdue", "early, set first", "early, set second", "late"]);
  });

  test("shows each timer the time it was due at", async () => {
    const clock = new FakeClock(1000);
    const seen: number[] = [];
    for (const delayMs of [30, 10]) clock.after(delayMs, () => seen.push(clock.now(), clock.monotonic()));
    await clock.advance(100);
    expect(seen).toEqual([1010, 10, 1030, 30]);
    expect(clock.now()).toBe(1100);
  });

  test("runs a timer that another timer sets within the same advance", async () => {
    const clock = new FakeClock(0);
    const seen: number[] = [];
    clock.after(10, () => clock.after(10, () => seen.push(clock.now())));
    await clock.advance(20);
    expect(seen).toEqual([20]);
  });

  test("lets awaited work settle before the next timer runs", async () => {
    const clock = new FakeClock();
    const order: string[] = [];
    const work = sleep(clock, 10).then(async () => {
      await Promise.resolve();
      order.push("work after the first timer");
    });
    clock.after(11, () => order.push("second timer"));
    await clock.advance(11);
    await work;
    expect(order).toEqual(["work after the first timer", "second timer"]);
  });

  test("does not run a timer before its time", async () => {
    const clock = new FakeClock();
    let ran = false;
    clock.after(10, () => {
      ran = true;
    });
    await clock.advance(9);
    expect(ran).toBe(false);
    await clock.advance(1);
    expect(ran).toBe(true);
  });

  test("forgets a cancelled timer", async () => {
    const clock = new FakeClock();
    let ran = false;
    const timer = clock.after(10, () => {
      ran = true;
    });
    timer.cancel();
    await clock.advance(10);
    expect(ran).toBe(false);
    expect(clock.waiting).toBe(0);
  });

  test("counts the timers that wait, so that a leaked one is seen", async () => {
    const clock = new FakeClock();
    clock.after(10, () => {});
    clock.after(20, () => {});
    expect(clock.waiting).toBe(2);
    await clock.advance(10);
    expect(clock.waiting).toBe(1);
  });

  test("jumps the wall clock without time passing: no timer runs early or late", async () => {
    const clock = new FakeClock(1_000_000);
    const seen: number[] = [];
    clock.after(10, () => seen.push(clock.monotonic()));
    clock.jump(-500_000);
    expect(clock.now()).toBe(500_000);
    expect(clock.monotonic()).toBe(0);
    clock.jump(3_600_000);
    await clock.advance(9);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual([10]);
  });
});

describe("the real clock", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("waits for a deadline beyond the longest timer that Node has", () => {
    vi.useFakeTimers();
    const days = 24 * 3_600_000;
    let ran = 0;
    realClock.after(60 * days, () => ran++);
    vi.advanceTimersByTime(60 * days - 1);
    expect(ran).toBe(0);
    vi.advanceTimersByTime(1);
    expect(ran).toBe(1);
  });

  test("cancels a timer in whichever stretch of its wait it is", () => {
    vi.useFakeTimers();
    const days = 24 * 3_600_000;
    let ran = false;
    const timer = realClock.after(60 * days, () => {
      ran = true;
    });
    vi.advanceTimersByTime(30 * days);
    timer.cancel();
    vi.advanceTimersByTime(60 * days);
    expect(ran).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("serves all who wait equally long in the order in which they came, each at its own time", () => {
    vi.useFakeTimers();
    const ran: string[] = [];
    realClock.after(100, () => ran.push("first"));
    vi.advanceTimersByTime(40);
    realClock.after(100, () => ran.push("second"));
    const cancelled = realClock.after(100, () => ran.push("cancelled"));
    realClock.after(100, () => ran.push("third"));
    cancelled.cancel();
    cancelled.cancel();
    vi.advanceTimersByTime(60);
    expect(ran).toEqual(["first"]);
    vi.advanceTimersByTime(40);
    expect(ran).toEqual(["first", "second", "third"]);
  });

  test("serves one who waits anew for as long as before, and those behind one that throws", () => {
    vi.useFakeTimers();
    const ran: string[] = [];
    realClock.after(100, () => {
      realClock.after(100, () => ran.push("again"));
      throw new Error("thrown by a timer");
    });
    realClock.after(100, () => ran.push("behind it"));
    expect(() => vi.advanceTimersByTime(100)).toThrow("thrown by a timer");
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(["behind it"]);
    vi.advanceTimersByTime(100);
    expect(ran).toEqual(["behind it", "again"]);
  });

  test("keeps no timer of the system for a delay that nobody waits for any more", () => {
    vi.useFakeTimers();
    const timers = Array.from({ length: 1000 }, (_, i) => realClock.after(60_000 + i, () => {}));
    for (const timer of timers) timer.cancel();
    expect(vi.getTimerCount()).toBeLessThan(100);
    vi.advanceTimersByTime(62_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("never keeps the process alive by a timer", () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const timer = realClock.after(1_000_000, () => {});
    const during = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    timer.cancel();
    expect(during).toBe(before);
  });
});

describe("timestamps", () => {
  const noon = Date.UTC(2026, 11, 31, 12);

  test("are written in RFC 3339, in UTC", () => {
    expect(timestamp(noon)).toBe("2026-12-31T12:00:00.000Z");
  });

  test.each([
    ["2026-12-31T12:00:00Z", noon],
    ["2026-12-31T12:00:00.250Z", noon + 250],
    ["2026-12-31T12:00:00.123456789Z", noon + 123],
    ["2026-12-31t12:00:00z", noon],
    ["2026-12-31 12:00:00Z", noon],
    ["2026-12-31T14:30:00+02:30", noon],
    ["2026-12-31T07:00:00-05:00", noon],
    ["2024-02-29T00:00:00Z", Date.UTC(2024, 1, 29)],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000],
  ])("%s is read", (text, instant) => {
    expect(parseTimestamp(text)).toBe(instant);
  });

  test("a leap second is read as the first instant of the next day", () => {
    expect(parseTimestamp("2016-12-31T23:59:60Z")).toBe(Date.UTC(2017, 0, 1));
    expect(parseTimestamp("2016-12-31T18:59:60-05:00")).toBe(Date.UTC(2017, 0, 1));
  });

  test.each([
    "",
    "tomorrow",
    "2026",
    "2026-12-31",
    "2026-12-31T12:00:00",
    "2026-12-31T12:00Z",
    "2026-12-31T12:00:00+02",
    "2026-12-31T12:00:00+0200",
    "2026-02-29T12:00:00Z",
    "2026-04-31T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "2026-12-31T25:00:00Z",
    "2026-12-31T12:60:00Z",
    "2026-12-31T12:00:60Z",
    "2026-12-31T12:00:61Z",
    "2026-12-31\n12:00:00Z",
    " 2026-12-31T12:00:00Z",
    "31 Dec 2026 12:00:00 GMT",
  ])("%j names no instant", (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

test("a process that only waits for the clock ends in the middle of its work, unless it is held", async () => {
  const program = (wait: string) =>
    `import { holding, realClock, sleep } from ${JSON.stringify(new URL("./clock.ts", import.meta.url))};
     await ${wait};
     console.log("done");`;
  const end = (wait: string) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program(wait)]).then(
      ({ stdout }) => stdout,
      ({ code }: { code: number }) => code,
    );
  expect(await end("sleep(realClock, 1)")).toBe(13);
  expect(await end("holding(sleep(realClock, 1))")).toBe("done\n");
});
