/** What workers get of a job while several of its changes are not durable yet. */
import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";

test("a job that returns to the queue is handed out at once, although another change of it waits for the disk", async () => {
  const { engine, desk, hold, flush } = await jobWorld();
  const { id } = await engine.submit(submission({ errorRetries: 1 }));
  await desk.take(worker("w1"), { limit: 1, waitMs: 0, gone: here });
  const taken = desk.take(worker("w2"), { limit: 1, waitMs: 60_000, gone: here });
  hold();
  void desk.report(worker("w1"), [report(id, '{"error":"no"}')]);
  await idle();
  void desk.report(worker("w1"), [report(id, '{"output":"late"}')]);
  await flush();
  expect((await taken).map(({ job }) => job.id)).toEqual([id]);
});

test("a job that returns to the queue is handed out at once, although its stream is read meanwhile", async () => {
  const { engine, desk, hold, flush } = await jobWorld();
  const { id } = await engine.submit(submission({ errorRetries: 1 }));
  const [claimed] = await desk.take(worker("w1"), { limit: 1, waitMs: 0, gone: here });
  const taken = desk.take(worker("w2"), { limit: 1, waitMs: 60_000, gone: here });
  hold();
  void desk.report(worker("w1"), [report(id, '{"error":"no"}')]);
  await idle();
  void engine.moveCursor(claimed!.job, { attempt: 1, sequence: 1 });
  await flush();
  expect((await taken).map(({ job }) => job.id)).toEqual([id]);
});

test("a job is handed out once it is durable, although its key was sent again and waits for the disk", async () => {
  const { engine, desk, hold, flush } = await jobWorld();
  const taken = desk.take(worker("w1"), { limit: 1, waitMs: 60_000, gone: here });
  const keyed = submission({}, { key: "k", digest: "d" });
  hold();
  const first = engine.submit(keyed);
  await idle();
  void engine.submit(keyed);
  await flush();
  expect((await taken).map(({ job }) => job.id)).toEqual([(await first).id]);
});
