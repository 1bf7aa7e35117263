/** Posts of a streaming job. Our own worker library numbers them, so that a post repeated after a lost answer is stored once. */
import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";
import type { Queue } from "../ports/queue/queue.ts";
import { CHUNK_BYTES, chunksOf } from "./chunks.ts";

const one = { limit: 1, waitMs: 0, gone: here };

const post = (id: string, output: unknown, sequence?: number, attempt = 1) => ({
  id,
  chunks: chunksOf(JSON.stringify({ output })),
  ...(sequence === undefined ? {} : { numbered: { attempt, sequence } }),
});

async function begun(terms: { errorRetries?: number } = {}) {
  const world = await jobWorld();
  const { id } = await world.engine.submit(submission(terms));
  await world.desk.take(worker("w1"), one);
  return { ...world, id };
}

async function outputs(queue: Queue, id: string): Promise<unknown[]> {
  const chunks = await queue.chunks(id, { attempt: 0, sequence: 0 }, 100);
  return chunks.map(({ text }) => JSON.parse(text).output);
}

test("a numbered post that comes again is kept once, and in its place", async () => {
  const { desk, queue, id } = await begun();
  for (const [output, sequence] of [
    ["a", 1],
    ["a", 1],
    ["b", 2],
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ] as const)
    await desk.stream(worker("w1"), post(id, output, sequence));
  expect(await outputs(queue, id)).toEqual(["a", "b", "c"]);
});

test("a post that comes again is answered once the first one is durable, and not before", async () => {
  const { desk, queue, id, hold, flush } = await begun();
  hold();
  let answered = 0;
  for (let time = 0; time < 2; time++) void desk.stream(worker("w1"), post(id, "a", 1)).then(() => answered++);
  await idle();
  expect(answered).toBe(0);
  await flush();
  expect(answered).toBe(2);
  expect(await outputs(queue, id)).toEqual(["a"]);
});

test("a post that comes again after a restart is still known", async () => {
  const { desk, start, id } = await begun();
  await desk.stream(worker("w1"), post(id, "a", 1));
  const restarted = start();
  await restarted.desk.stream(worker("w1"), post(id, "a", 1));
  await restarted.desk.stream(worker("w1"), post(id, "b", 2));
  expect(await outputs(restarted.queue, id)).toEqual(["a", "b"]);
});

test("all pieces of a large post are known when it comes again", async () => {
  const { desk, queue, id } = await begun();
  const large = "x".repeat(2 * CHUNK_BYTES);
  for (const sequence of [1, 1]) await desk.stream(worker("w1"), post(id, large, sequence));
  await desk.stream(worker("w1"), post(id, "end", 2));
  const kept = await outputs(queue, id);
  expect(kept).toHaveLength(4);
  expect(kept.slice(0, 3).join("") === large).toBe(true);
});

test("a post of an earlier attempt is dropped, although the same worker has the job again", async () => {
  const { desk, queue, id } = await begun({ errorRetries: 1 });
  await desk.report(worker("w1"), [report(id, '{"error":"no"}')]);
  await desk.take(worker("w1"), one);
  await desk.stream(worker("w1"), post(id, "old", 1, 1));
  await desk.stream(worker("w1"), post(id, "new", 1, 2));
  expect(await outputs(queue, id)).toEqual(["new"]);
});

test("a post of a later attempt than this node remembers is kept: the worker took the job elsewhere", async () => {
  const { desk, newDesk, queue, id } = await begun({ errorRetries: 1 });
  const other = newDesk();
  await other.report(worker("w1"), [report(id, '{"error":"no"}')]);
  await other.take(worker("w1"), one);
  await desk.stream(worker("w1"), post(id, "new", 1, 2));
  expect(await outputs(queue, id)).toEqual(["new"]);
});

test("posts without numbers are all kept, also when they are alike", async () => {
  const { desk, queue, id } = await begun();
  for (let time = 0; time < 2; time++) await desk.stream(worker("w1"), post(id, "a"));
  expect(await outputs(queue, id)).toEqual(["a", "a"]);
});
