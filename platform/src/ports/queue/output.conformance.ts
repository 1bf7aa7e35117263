/** What every Queue does with outputs that arrive and leave in pieces. */
import { expect, test } from "vitest";
import { problem } from "../../kernel/problem.ts";
import {
  apply,
  applyOne,
  claim,
  ENDPOINT,
  fail,
  finish,
  NOW,
  newJob,
  type OpenQueue,
  policy,
  reading,
  retry,
  running,
} from "./conformance-jobs.ts";
import type { LargeOutput } from "./job.ts";
import type { Queue } from "./queue.ts";

/** Longer than a few rows of a database, and not a multiple of any size in use. */
const BYTES = 3_300_007;

/** Content in which no two ranges are alike. */
const content = Buffer.from(
  Uint32Array.from({ length: Math.ceil(BYTES / 4) }, (_, i) => i * 2_654_435_761).buffer,
  0,
  BYTES,
);

async function* inPieces(bytes: Uint8Array, length = 100_003): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function contentOf(queue: Queue, job: string, large: LargeOutput): Promise<Buffer | undefined> {
  const pieces = await queue.outputs.open(job, large);
  return pieces && Buffer.concat(await Array.fromAsync(pieces));
}

/** Makes a job that failed with this output. */
async function withOutput(queue: Queue, id: string): Promise<LargeOutput> {
  await running(queue, newJob(id));
  const large = { key: await queue.outputs.stage(inPieces(content)), start: 0, bytes: BYTES };
  await apply(queue, fail(id, { set: { large } }));
  return large;
}

export function outputConformance(open: OpenQueue): void {
  test("an output comes back as it was staged, whole and in any stretch", async () => {
    await using opened = await open();
    const { queue } = opened;
    const large = await withOutput(queue, "j1");
    expect((await reading(queue, "j1")).job.large).toEqual(large);
    for (const [start, bytes] of [
      [0, BYTES],
      [10, 1],
      [BYTES - 1, 1],
      [1_048_575, 2],
      [1_048_576, 1_048_576],
      [5, 3_000_000],
    ] as const) {
      const found = await contentOf(queue, "j1", { ...large, start, bytes });
      // `toEqual` would print a difference of megabytes.
      expect(found?.equals(content.subarray(start, start + bytes)), `${bytes} from ${start}`).toBe(true);
    }
  });

  test("an output belongs to the job that took it, and to no other", async () => {
    await using opened = await open();
    const { queue } = opened;
    const large = await withOutput(queue, "j1");
    await running(queue, newJob("j2"));
    expect(await contentOf(queue, "j2", large)).toBeUndefined();
    expect(await contentOf(queue, "j1", { ...large, key: "another" })).toBeUndefined();
  });

  test("what was staged goes when it is let go, unless a job has it", async () => {
    await using opened = await open();
    const { queue } = opened;
    const large = await withOutput(queue, "j1");
    await queue.outputs.unstage(large.key);
    expect(await contentOf(queue, "j1", large)).toHaveLength(BYTES);
    await running(queue, newJob("j2"));
    const key = await queue.outputs.stage(inPieces(content));
    const late = await applyOne(queue, fail("j1", { set: { large: { ...large, key } } }));
    expect(late.applied).toBe(false);
    await queue.outputs.unstage(key);
    await queue.outputs.unstage(key);
    expect(await contentOf(queue, "j1", { ...large, key })).toBeUndefined();
    expect(await contentOf(queue, "j1", large)).toHaveLength(BYTES);
  });

  test("pieces that end with an error leave nothing, and the error is passed on", async () => {
    await using opened = await open();
    async function* broken() {
      yield* inPieces(content);
      throw problem("too-large", "too much");
    }
    await expect(opened.queue.outputs.stage(broken())).rejects.toMatchObject({ code: "too-large" });
  });

  test("a retry removes the output, and the next one takes its place", async () => {
    await using opened = await open();
    const { queue } = opened;
    const first = await withOutput(queue, "j1");
    await apply(queue, { ...retry("j1"), clear: [...retry("j1").clear!, "large"] });
    expect((await reading(queue, "j1")).job).not.toHaveProperty("large");
    expect(await contentOf(queue, "j1", first)).toBeUndefined();
    await claim(queue);
    const second = { key: await queue.outputs.stage(inPieces(content.subarray(0, 10))), start: 0, bytes: 10 };
    await apply(queue, finish("j1", { set: { large: second } }));
    expect(await contentOf(queue, "j1", second)).toEqual(content.subarray(0, 10));
    expect(await contentOf(queue, "j1", first)).toBeUndefined();
  });

  test("an output goes with its job: by expiry, and with its endpoint", async () => {
    await using opened = await open();
    const { queue } = opened;
    const first = await withOutput(queue, "j1");
    await queue.expire(NOW + policy.retentionMs, 10);
    expect(await contentOf(queue, "j1", first)).toBeUndefined();
    const second = await withOutput(queue, "j2");
    await queue.removeEndpoint(ENDPOINT);
    expect(await contentOf(queue, "j2", second)).toBeUndefined();
  });

  test("an output is still there after a restart", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    const large = await withOutput(opened.queue, "j1");
    const again = await opened.reopen();
    expect((await contentOf(again, "j1", large))?.equals(content)).toBe(true);
  });

  test("an output that one node took in, another gives out", async (context) => {
    await using opened = await open();
    if (typeof opened.another !== "function") return context.skip(opened.another.cannot);
    const large = await withOutput(opened.queue, "j1");
    await using other = await opened.another();
    expect((await contentOf(other, "j1", large))?.equals(content)).toBe(true);
  });

  test("an output that goes while it is read comes whole, or ends with an error", async () => {
    await using opened = await open();
    const { queue } = opened;
    const large = await withOutput(queue, "j1");
    const pieces = (await queue.outputs.open("j1", large))![Symbol.asyncIterator]();
    const first = (await pieces.next()).value as Uint8Array;
    await queue.removeEndpoint(ENDPOINT);
    const got: Uint8Array[] = [first];
    const rest = (async () => {
      for (let next = await pieces.next(); !next.done; next = await pieces.next()) got.push(next.value);
      return "whole";
    })();
    const came = await rest.catch(() => "error");
    if (came === "whole") expect(Buffer.concat(got).equals(content)).toBe(true);
  });
}
