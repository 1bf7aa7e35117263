/** Retrying a job: only runs that begin after the retry count. */
import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";

const one = { limit: 1, waitMs: 0, gone: here };
const DEADLINE_MS = 10_000;

/** Makes a job that timed out while `w1` still runs it. */
async function timedOut() {
  const world = await jobWorld();
  const { engine, desk, queue, clock } = world;
  const { id } = await engine.submit(submission({ executionTimeoutMs: DEADLINE_MS }));
  await desk.take(worker("w1"), one);
  await clock.advance(DEADLINE_MS);
  await engine.settleDue(await queue.due(clock.now(), 10));
  await engine.retry("ep", id);
  return { ...world, id };
}

test("the late result of a run before the retry is not taken, after another worker has had the job too", async () => {
  const { engine, desk, queue, clock, start, id } = await timedOut();
  await desk.take(worker("w2"), one);
  await desk.ended(worker("w2"));
  await engine.settleDue(await queue.due(clock.now(), 10));
  const restarted = start();
  await restarted.desk.report(worker("w1"), [report(id, '{"output":"old"}')]);
  expect((await restarted.engine.read("ep", id)).job.state).toBe("IN_QUEUE");
});

test("the late result of a run before the retry is not taken, after a second retry either", async () => {
  const { engine, desk, queue, clock, id } = await timedOut();
  await clock.advance(86_400_000);
  await engine.settleDue(await queue.due(clock.now(), 10));
  await engine.retry("ep", id);
  await desk.report(worker("w1"), [report(id, '{"output":"old"}')]);
  expect((await engine.read("ep", id)).job.state).toBe("IN_QUEUE");
});
