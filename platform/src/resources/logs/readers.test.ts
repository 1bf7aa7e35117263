/** How many readers may follow logs at once, and how fast they get them. */
import { expect, test, vi } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import type { LogLine } from "../../ports/logs/logs.ts";
import { logEvents } from "./follow.ts";
import { LogReaders } from "./readers.ts";

const lineOf = (line: string, sequence = 1): LogLine => ({ source: "container", ts: 0, line, sequence });

async function* endless(block: LogLine[]): AsyncGenerator<LogLine[]> {
  for (;;) yield block;
}

function setup(most?: number) {
  const clock = new FakeClock();
  const readers = new LogReaders({ clock, most, isStanding: async () => true });
  const follow = (account: string, gone: AbortSignal, block: LogLine[] = [lineOf("a")]) =>
    readers.follow({ account }, gone, logEvents, async () => endless(block));
  return { clock, readers, follow };
}

test("an account may follow so many logs at once, and others as many", async () => {
  const { follow } = setup(2);
  const { signal } = new AbortController();
  await follow("one", signal);
  await follow("one", signal);
  await expect(follow("one", signal)).rejects.toMatchObject({
    code: "too-much",
    detail:
      "This account follows 2 logs here, and may not follow more at once: close one, or raise MILLRACE_LOG_READERS.",
  });
  await follow("other", signal);
});

test("one that has gone, or found no log, makes room for the next", async () => {
  const { readers, follow } = setup(1);
  const first = new AbortController();
  await follow("one", first.signal);
  first.abort();
  const { signal } = new AbortController();
  const failing = readers.follow({ account: "one" }, signal, logEvents, () => Promise.reject(new Error("no such log")));
  await expect(failing).rejects.toThrow("no such log");
  await follow("one", AbortSignal.abort());
  await follow("one", signal);
  await expect(follow("one", signal)).rejects.toMatchObject({ code: "too-much" });
});

test("a block is put into words once, however many read it", async () => {
  const { follow } = setup();
  const { signal } = new AbortController();
  const block = Array.from({ length: 100 }, (_, i) => lineOf(`line ${i}`, i + 1));
  const bytes: Buffer[] = [];
  using words = vi.spyOn(JSON, "stringify");
  for (let i = 0; i < 50; i++) {
    for await (const read of await follow("one", signal, block)) {
      bytes.push(read.bytes);
      break;
    }
  }
  expect(words).toHaveBeenCalledTimes(block.length);
  expect(new Set(bytes).size).toBe(1);
  expect(bytes[0]!.toString()).toContain(
    'data: {"ts":"1970-01-01T00:00:00.000Z","source":"container","line":"line 99"}\n\n',
  );
});

/** Counts the MB that readers get in this many seconds. */
async function megabytes({ clock, follow }: ReturnType<typeof setup>, accounts: string[], seconds: number) {
  const over = new AbortController();
  const block = [lineOf("x".repeat(99_900))];
  let bytes = 0;
  const reading = accounts.map(async (account) => {
    for await (const read of await follow(account, over.signal, block)) {
      if (over.signal.aborted) break;
      bytes += read.bytes.length;
    }
  });
  for (let passed = 0; passed < seconds * 1000; passed += 100) await clock.advance(100);
  over.abort();
  await Promise.all(reading);
  return bytes / 1_000_000;
}

test("all readers of an account share one speed", async () => {
  const alone = await megabytes(setup(), ["one"], 10);
  const together = await megabytes(setup(), Array<string>(20).fill("one"), 10);
  for (const read of [alone, together]) {
    expect(read).toBeGreaterThan(16 + 38);
    expect(read).toBeLessThan(16 + 44);
  }
});

test("and so do all accounts", async () => {
  const accounts = Array.from({ length: 20 }, (_, i) => `account ${i}`);
  expect(await megabytes(setup(), accounts, 10)).toBeLessThan(64 + 170);
});
