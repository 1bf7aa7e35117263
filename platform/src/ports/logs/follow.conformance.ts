/** What every Logs guarantees to readers that follow a stream. */
import { expect, test } from "vitest";
import { turn } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { printedSeed } from "../queue/conformance-history.ts";
import { linesOf, NOW, type OpenLogs, STREAM, said, texts } from "./logs.conformance.ts";
import { type LogLine, type Logs, logSources, type Query } from "./logs.ts";

const everything: Query = { from: { since: 0 } };

/** A reader that takes as many lines as a test says. */
function reader(logs: Logs, query: Query, stream = STREAM) {
  const stop = new AbortController();
  const batches = logs.follow(stream, query, stop.signal)[Symbol.asyncIterator]();
  return {
    stop: () => stop.abort(),
    /** Reads until this many lines have come. */
    async take(count: number): Promise<LogLine[]> {
      const taken: LogLine[] = [];
      while (taken.length < count) {
        const { value, done } = await batches.next();
        if (done) throw new Error(`the stream ended after ${taken.length} of ${count} lines`);
        taken.push(...value);
      }
      return taken;
    },
    /** Returns the next block as it comes. */
    async block(): Promise<LogLine[]> {
      const { value, done } = await batches.next();
      if (done) throw new Error("the stream ended");
      return value;
    },
    /** Returns everything that comes until the end. */
    async rest(): Promise<LogLine[]> {
      const rest: LogLine[] = [];
      for (let next = await batches.next(); !next.done; next = await batches.next()) rest.push(...next.value);
      return rest;
    },
  };
}

export function followConformance(open: OpenLogs): void {
  test("what is kept comes first, then every line as it is appended", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a", "b", "c"));
    const follower = reader(opened.logs, { from: { tail: 2 } });
    expect(texts(await follower.take(2))).toEqual(["b", "c"]);
    opened.logs.append(STREAM, linesOf("d"));
    expect(await follower.take(1)).toEqual([{ source: "container", ts: NOW, line: "d", sequence: 4 }]);
    opened.logs.append(STREAM, linesOf("e", "f"));
    expect(texts(await follower.take(2))).toEqual(["e", "f"]);
  });

  test("a reader that ends now gets what is kept, even beside one that follows", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a", "b"));
    const follower = reader(opened.logs, everything);
    await follower.take(2);
    opened.logs.append(STREAM, linesOf("c"));
    expect(texts(await reader(opened.logs, { from: { tail: 2 }, endsNow: true }).rest())).toEqual(["b", "c"]);
    expect(await reader(opened.logs, { from: { tail: 0 }, endsNow: true }).rest()).toEqual([]);
    expect(await reader(opened.logs, { ...everything, endsNow: true }, "worker/ep/none").rest()).toEqual([]);
  });

  test("without history only new lines come", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("old"));
    const follower = reader(opened.logs, { from: { tail: 0 } });
    const taken = follower.take(1);
    await opened.logs.has(STREAM);
    await turn();
    opened.logs.append(STREAM, linesOf("new"));
    expect(texts(await taken)).toEqual(["new"]);
  });

  test("a stream can be followed before its first line", async () => {
    await using opened = await open();
    const follower = reader(opened.logs, everything);
    const taken = follower.take(1);
    await turn();
    opened.logs.append(STREAM, linesOf("first"));
    expect(texts(await taken)).toEqual(["first"]);
  });

  test("following goes on behind the last line that was seen", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, [said("a"), said("b"), said("c")]);
    const follower = reader(opened.logs, { from: { after: { ts: NOW, sequence: 1 } } });
    expect(texts(await follower.take(2))).toEqual(["b", "c"]);
  });

  test("only the source asked for comes", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, [...linesOf("a"), said("b")]);
    const follower = reader(opened.logs, { from: { since: 0 }, source: "system" });
    expect(texts(await follower.take(1))).toEqual(["b"]);
    opened.logs.append(STREAM, [...linesOf("c"), said("d")]);
    expect(texts(await follower.take(1))).toEqual(["d"]);
  });

  test("lines of other streams do not come", async () => {
    await using opened = await open();
    const follower = reader(opened.logs, everything);
    opened.logs.append("worker/ep/w2", linesOf("other"));
    opened.logs.append(STREAM, linesOf("mine"));
    expect(texts(await follower.take(1))).toEqual(["mine"]);
  });

  test("it ends when the reader stops, while it waits and before it begins", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("a"));
    const follower = reader(opened.logs, everything);
    await follower.take(1);
    const rest = follower.rest();
    await turn();
    follower.stop();
    expect(await rest).toEqual([]);
    const late = reader(opened.logs, everything);
    late.stop();
    expect(await late.rest()).toEqual([]);
  });

  test("it ends when the stream is removed, alone or with all below a path", async () => {
    await using opened = await open();
    for (const path of [STREAM, "worker/ep/"]) {
      opened.logs.append(STREAM, linesOf("a"));
      const follower = reader(opened.logs, everything);
      await follower.take(1);
      const rest = follower.rest();
      await opened.logs.remove(path);
      expect(await rest).toEqual([]);
    }
  });

  test("all who wait for new lines are handed the very same block, whichever source they ask for", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, [...linesOf("old"), said("old")]);
    for (const source of [undefined, ...logSources]) {
      const waiting = [1, 2].map(() => reader(opened.logs, { from: { tail: 0 }, source }));
      const taken = waiting.map(({ block }) => block());
      await opened.logs.has(STREAM);
      await turn();
      opened.logs.append(STREAM, [...linesOf("new"), said("new")]);
      const [one, other] = await Promise.all(taken);
      expect(one).toBe(other);
      for (const { stop } of waiting) stop();
    }
  });

  test("lines that come one by one in a hurry are gathered to blocks", async () => {
    await using opened = await open();
    const follower = reader(opened.logs, everything);
    const first = follower.block();
    await turn();
    for (let i = 0; i < 500; i++) {
      opened.logs.append(STREAM, linesOf(`${i}`));
      await opened.logs.has(STREAM);
    }
    await opened.clock.advance(1000);
    const blocks = [await first];
    while (blocks.flat().length < 500) blocks.push(await follower.block());
    expect(texts(blocks.flat())).toEqual(Array.from({ length: 500 }, (_, i) => `${i}`));
    expect(blocks.length).toBeLessThanOrEqual(60);
  });

  test("no block is so long that it keeps everybody waiting", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf(...Array.from({ length: 3000 }, () => "y")));
    opened.logs.append(STREAM, linesOf("x".repeat(300_000)));
    const follower = reader(opened.logs, everything);
    for (let count = 0; count < 3019; ) {
      const block = await follower.block();
      expect(block.length).toBeLessThanOrEqual(1024);
      expect(texts(block).join("").length).toBeLessThanOrEqual(65_536 + 16_384);
      count += block.length;
    }
  });

  test("a reader who is a little slow gets everything", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("first"));
    const follower = reader(opened.logs, everything);
    await follower.take(1);
    for (let i = 0; i < 20; i++) {
      opened.logs.append(STREAM, linesOf(...Array.from({ length: 50 }, (_, j) => `${i * 50 + j}`)));
      await opened.logs.has(STREAM);
    }
    expect(texts(await follower.take(1000))).toEqual(Array.from({ length: 1000 }, (_, i) => `${i}`));
  });

  test.for([[undefined], ["container"]] as const)(
    "a reader who is slow skips what is more than may wait for it, and is told how many lines: source %s",
    async ([source]) => {
      await using opened = await open();
      opened.logs.append(STREAM, linesOf("first"));
      const follower = reader(opened.logs, { from: { since: 0 }, source });
      await follower.take(1);
      for (let i = 0; i < 10; i++) {
        opened.logs.append(STREAM, linesOf(...Array.from({ length: 1000 }, (_, j) => `${i * 1000 + j}`)));
        await opened.logs.has(STREAM);
      }
      const [note, ...next] = await follower.take(2);
      const skipped = next[0]!.sequence - 2;
      expect(skipped).toBeGreaterThan(1000);
      expect(note).toEqual({
        ...{ source: "system", ts: next[0]!.ts, sequence: next[0]!.sequence - 1 },
        line: `${skipped} lines skipped: they came faster than this reader reads`,
      });
      const rest = [...next, ...(await follower.take(10_000 - skipped - next.length))];
      expect(texts(rest)).toEqual(Array.from({ length: 10_000 - skipped }, (_, i) => `${skipped + i}`));
      follower.stop();
      // The skipped lines are still kept, for readers that come back for them.
      const again = reader(opened.logs, { from: { after: { ts: NOW, sequence: 1 } } });
      expect(texts((await again.take(100)).slice(0, 2))).toEqual(["0", "1"]);
    },
  );

  test("however lines come and readers read, each gets every line once and in order, or is told how many it skipped", async () => {
    await using opened = await open();
    const random = new SeededRandom(printedSeed());
    const below = (most: number) => random.bytes(4).reduce((sum, byte) => sum * 256 + byte, 0) % most;
    const total = 9000;
    const readers = Array.from({ length: 12 }, async (_, i) => {
      for (let pause = i; pause > 0; pause--) await turn();
      const follower = reader(opened.logs, everything);
      let sequence = 0;
      while (sequence < total) {
        for (const line of await follower.block()) {
          const skipped = line.source === "system" ? Number.parseInt(line.line, 10) : 1;
          expect(line.sequence).toBe(sequence + skipped);
          sequence = line.sequence;
        }
        for (let pause = below(i); pause > 0; pause--) await turn();
      }
      follower.stop();
    });
    for (let made = 0; made < total; ) {
      const count = Math.min(1 + below(80), total - made);
      opened.logs.append(STREAM, linesOf(...Array.from({ length: count }, (_, j) => `${made + j}`)));
      made += count;
      await opened.clock.advance(below(40));
      for (let pause = below(3); pause > 0; pause--) await turn();
    }
    await opened.logs.has(STREAM);
    await opened.clock.advance(1000);
    await Promise.all(readers);
  });
}
