/** How every Logs is followed. */
import { expect, test } from "vitest";
import { turn } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { printedSeed } from "../queue/conformance-history.ts";
import { linesOf, NOW, type OpenLogs, STREAM, said, texts } from "./logs.conformance.ts";
import type { LogLine, Logs, Query } from "./logs.ts";

const everything: Query = { from: { since: 0 } };

/** A reader that takes as many lines as it is told to. */
function reader(logs: Logs, query: Query, stream = STREAM) {
  const stop = new AbortController();
  const batches = logs.follow(stream, query, stop.signal)[Symbol.asyncIterator]();
  return {
    stop: () => stop.abort(),
    /** Reads on until this many lines have come. */
    async take(count: number): Promise<LogLine[]> {
      const taken: LogLine[] = [];
      while (taken.length < count) {
        const { value, done } = await batches.next();
        if (done) throw new Error(`the stream ended after ${taken.length} of ${count} lines`);
        taken.push(...value);
      }
      return taken;
    },
    /** What comes until the end. */
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

  test("a reader who is slow gets everything nevertheless", async () => {
    await using opened = await open();
    opened.logs.append(STREAM, linesOf("first"));
    const follower = reader(opened.logs, everything);
    await follower.take(1);
    for (let i = 0; i < 60; i++) {
      opened.logs.append(STREAM, linesOf(...Array.from({ length: 50 }, (_, j) => `${i * 50 + j}`)));
      await opened.logs.has(STREAM);
    }
    expect(texts(await follower.take(3000))).toEqual(Array.from({ length: 3000 }, (_, i) => `${i}`));
  });

  test("however lines come and readers read, each reader gets every line once and in order", async () => {
    await using opened = await open();
    const random = new SeededRandom(printedSeed());
    const below = (most: number) => random.bytes(4).reduce((sum, byte) => sum * 256 + byte, 0) % most;
    const total = 6000;
    const readers = Array.from({ length: 12 }, async (_, i) => {
      for (let pause = i; pause > 0; pause--) await turn();
      const follower = reader(opened.logs, everything);
      const got: LogLine[] = [];
      while (got.length < total) {
        got.push(...(await follower.take(Math.min(1 + below(500), total - got.length))));
        for (let pause = below(6); pause > 0; pause--) await turn();
      }
      follower.stop();
      return got;
    });
    for (let made = 0; made < total; ) {
      const count = Math.min(1 + below(80), total - made);
      opened.logs.append(STREAM, linesOf(...Array.from({ length: count }, (_, j) => `${made + j}`)));
      made += count;
      for (let pause = below(3); pause > 0; pause--) await turn();
    }
    const wanted = Array.from({ length: total }, (_, i) => i + 1);
    for (const got of await Promise.all(readers)) expect(got.map(({ sequence }) => sequence)).toEqual(wanted);
  });
}
