/** Workers that wait for work count as alive and are called for any job they may take. */
import { expect, test } from "vitest";
import { here, jobWorld, submission, worker } from "../../tests/engine-world.ts";

const waiting = { limit: 1, waitMs: 60_000, gone: here };
const ids = (claimed: { job: { id: string } }[]) => claimed.map(({ job }) => job.id);

test("a worker that has waited for longer than a silent one is believed to live keeps the job it gets", async () => {
  const { clock, engine, desk, queue } = await jobWorld();
  const taken = desk.take(worker("w1"), waiting);
  await clock.advance(40_000);
  const { id } = await engine.submit(submission());
  expect(ids(await taken)).toEqual([id]);
  expect(await queue.due(clock.now(), 10)).toEqual([]);
});

test("a job that the first in line may still be busy with goes to the next in line", async () => {
  const { clock, engine, desk, queue } = await jobWorld();
  const { id } = await engine.submit(submission());
  await desk.take(worker("w1"), waiting);
  await desk.ping(worker("w1"), new Set([id]));
  const first = desk.take(worker("w1"), waiting);
  const second = desk.take(worker("w2"), waiting);
  await desk.ended(worker("w1"));
  await engine.settleDue(await queue.due(clock.now(), 10));
  expect(ids(await second)).toEqual([id]);
  await clock.advance(60_000);
  expect(await first).toEqual([]);
});

test("setting the clock forward by hours costs no worker its job, and a worker that is silent for 30 s has lost it all the same", async () => {
  const { clock, engine, desk, queue } = await jobWorld();
  const { id } = await engine.submit(submission({ executionTimeoutMs: 86_400_000 }));
  await desk.take(worker("w1"), waiting);
  clock.jump(10 * 3_600_000);
  expect(await queue.due(clock.now(), 10)).toEqual([]);
  clock.jump(-20 * 3_600_000);
  await clock.advance(30_000);
  expect(await queue.due(clock.now(), 10)).toMatchObject([{ job: { id }, why: "holder" }]);
});
