/** What every Queue guarantees about bodies, results and chunks. */
import { expect, test } from "vitest";
import {
  apply,
  applyOne,
  cancel,
  claim,
  fail,
  finish,
  giveBack,
  NOW,
  newJob,
  type OpenQueue,
  reading,
  retry,
  running,
  text,
} from "./conformance-jobs.ts";

const SIZES: [string, number][] = [
  ["10 bytes", 10],
  ["5 KB", 5 * 1024],
  ["300 KB", 300 * 1024],
  ["12 MB", 12 * 1024 * 1024],
];

/** JSON text of this many bytes, with characters of one to four bytes, quotes and backslashes. */
function jsonText(bytes: number): string {
  const pattern = '\\"a\\\\ü世🔑\\u0000 ';
  const rest = bytes - 2;
  const repeated = Math.floor(rest / Buffer.byteLength(pattern));
  return `"${pattern.repeat(repeated)}${"x".repeat(rest - repeated * Buffer.byteLength(pattern))}"`;
}

export function payloadConformance(open: OpenQueue): void {
  for (const [size, bytes] of SIZES) {
    for (const form of ["text", "bytes"]) {
      test(`a body and a result of ${size}, given as ${form}, come back as they were`, async () => {
        await using opened = await open();
        const content = jsonText(bytes);
        expect(Buffer.byteLength(content)).toBe(bytes);
        const payload = form === "text" ? content : new Uint8Array(Buffer.from(content));
        await opened.queue.enqueue([newJob("j1", { body: payload })]);
        const [claimed] = await claim(opened.queue);
        await apply(opened.queue, finish("j1", { result: payload }));
        const { body, result } = await reading(opened.queue, "j1");
        // `toBe` would print a difference of 12 MB.
        for (const given of [claimed!.body, body, result]) expect(text(given) === content).toBe(true);
      });
    }
  }

  test("a large result gives way to a small one, and a small one to a large one", async () => {
    await using opened = await open();
    const large = jsonText(300 * 1024);
    await running(opened.queue, newJob("j1"));
    for (const result of [large, '"small"', Buffer.from(large)]) {
      await apply(opened.queue, fail("j1", { result }));
      expect(text((await reading(opened.queue, "j1")).result) === text(result)).toBe(true);
      await apply(opened.queue, retry("j1"));
      expect((await reading(opened.queue, "j1")).result).toBeUndefined();
      await claim(opened.queue);
    }
  });

  test("a large result that is refused leaves the one that is there", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, finish("j1", { result: jsonText(300 * 1024) }));
    const late = await applyOne(opened.queue, finish("j1", { result: Buffer.from(jsonText(400 * 1024)) }));
    expect(late.applied).toBe(false);
    expect(text((await reading(opened.queue, "j1")).result)).toHaveLength(jsonText(300 * 1024).length);
  });

  test("changes with and without a large result stand in one call", async () => {
    await using opened = await open();
    await opened.queue.enqueue(["j1", "j2", "j3"].map((id) => newJob(id)));
    await claim(opened.queue, { limit: 3 });
    const large = jsonText(300 * 1024);
    const outcomes = await opened.queue.apply([
      finish("j1"),
      finish("j2", { result: large }),
      giveBack("j3"),
      finish("j2"),
    ]);
    expect(outcomes.map(({ applied }) => applied)).toEqual([true, true, true, false]);
    expect(text((await reading(opened.queue, "j2")).result) === large).toBe(true);
    expect((await reading(opened.queue, "j1")).result).toBe('{"output":"of j1"}');
  });

  test("chunks come back in order, from a position on, up to a limit", async () => {
    await using opened = await open();
    const chunk = (attempt: number, sequence: number) => ({
      id: "j1",
      attempt,
      sequence,
      text: `{"n":"${sequence} ü"}`,
    });
    await running(opened.queue, newJob("j1"));
    await opened.queue.append("w1", [chunk(1, 2), chunk(1, 1)]);
    await opened.queue.append("w1", [chunk(1, 10)]);
    await apply(opened.queue, giveBack("j1"));
    await claim(opened.queue);
    await opened.queue.append("w1", [chunk(2, 1)]);
    const from = (attempt: number, sequence: number, limit = 9) =>
      opened.queue.chunks("j1", { attempt, sequence }, limit);
    expect(await from(0, 0)).toEqual([chunk(1, 1), chunk(1, 2), chunk(1, 10), chunk(2, 1)]);
    expect(await from(1, 2)).toEqual([chunk(1, 10), chunk(2, 1)]);
    expect(await from(1, 1, 1)).toEqual([chunk(1, 2)]);
    expect(await from(2, 1)).toEqual([]);
    expect(await opened.queue.chunks("j2", { attempt: 0, sequence: 0 }, 9)).toEqual([]);
  });

  test("a chunk that is sent twice is kept once, as it came first", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const chunk = { id: "j1", attempt: 1, sequence: 1, text: "1" };
    await Promise.all([opened.queue.append("w1", [chunk, chunk]), opened.queue.append("w1", [chunk])]);
    await opened.queue.append("w1", [{ ...chunk, text: "2" }]);
    expect(await opened.queue.chunks("j1", { attempt: 0, sequence: 0 }, 9)).toEqual([chunk]);
  });

  test("of long chunks one at least is read, then as many as fit", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const text = `"${"x".repeat(99_998)}"`;
    await opened.queue.append(
      "w1",
      [1, 2, 3, 4, 5].map((sequence) => ({ id: "j1", attempt: 1, sequence, text })),
    );
    const read = async (sequence: number, limit: number, bytes?: number) =>
      (await opened.queue.chunks("j1", { attempt: 1, sequence }, limit, bytes)).map((chunk) => chunk.sequence);
    expect(await read(0, 9, 1)).toEqual([1]);
    expect(await read(1, 9, 300_000)).toEqual([2, 3, 4]);
    expect(await read(1, 9, 299_999)).toEqual([2, 3]);
    expect(await read(1, 1, 300_000)).toEqual([2]);
    expect(await read(5, 9, 1)).toEqual([]);
    expect(await read(0, 9)).toEqual([1, 2, 3, 4, 5]);
  });

  test("a chunk under a key that its attempt has already is dropped, whatever else it says", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const chunk = (sequence: number, key?: string, attempt = 1) => ({
      ...{ id: "j1", attempt, sequence, text: `"${key}"` },
      ...(key === undefined ? {} : { key }),
    });
    await Promise.all([
      opened.queue.append("w1", [chunk(1, "a"), chunk(2, "a")]),
      opened.queue.append("w1", [chunk(3, "a")]),
    ]);
    await opened.queue.append("w1", [chunk(4, "b"), chunk(5), chunk(6), chunk(7, "a")]);
    const kept = () => opened.queue.chunks("j1", { attempt: 0, sequence: 0 }, 9);
    expect((await kept()).map(({ sequence, text }) => [sequence, text])).toEqual([
      [1, '"a"'],
      [4, '"b"'],
      [5, '"undefined"'],
      [6, '"undefined"'],
    ]);
    await apply(opened.queue, giveBack("j1", { also: { dropChunks: true } }));
    await claim(opened.queue);
    await opened.queue.append("w1", [chunk(1, "a", 2)]);
    expect(await kept()).toEqual([{ id: "j1", attempt: 2, sequence: 1, text: '"a"' }]);
  });

  test("chunks of another holder, another attempt, an ended or an unknown job are dropped", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await opened.queue.append("w2", [{ id: "j1", attempt: 1, sequence: 1, text: "1" }]);
    await opened.queue.append("w1", [
      { id: "j1", attempt: 2, sequence: 1, text: "1" },
      { id: "nobody", attempt: 1, sequence: 1, text: "1" },
      { id: "j1", attempt: 1, sequence: 2, text: "2" },
    ]);
    await apply(opened.queue, cancel("j1"));
    await opened.queue.append("w1", [{ id: "j1", attempt: 1, sequence: 3, text: "3" }]);
    const kept = await opened.queue.chunks("j1", { attempt: 0, sequence: 0 }, 9);
    expect(kept.map(({ sequence }) => sequence)).toEqual([2]);
    expect(await opened.queue.chunks("nobody", { attempt: 0, sequence: 0 }, 9)).toEqual([]);
    expect(await opened.queue.read("nobody", NOW)).toBeUndefined();
  });
}
