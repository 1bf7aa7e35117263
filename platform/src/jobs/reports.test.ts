/** Reports that are late, repeated or sent together: each affects only the run that it is about. */
import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";

const one = { limit: 1, waitMs: 0, gone: here };

test("whoever waits for an end is told of it, although a report beside it needs another write", async () => {
  const { engine, desk, hold, flush } = await jobWorld();
  const lost = await engine.submit(submission());
  const { id } = await engine.submit(submission());
  await desk.take(worker("w1"), { ...one, limit: 2 });
  await desk.ping(worker("w1"), new Set([id]));
  await desk.ping(worker("w1"), new Set([id]));
  let told: string | undefined;
  void engine.waitFor("ep", id, { waitMs: 60_000, gone: here }).then(({ job }) => {
    told = job.state;
  });
  hold();
  void desk.report(worker("w1"), [report(lost.id, '{"output":1}'), report(id, '{"output":2}')]);
  await flush();
  expect(told).toBe("COMPLETED");
});

test("a worker may have a job again that it has reported, although a ping from before that came in between", async () => {
  const { clock, queue, engine, desk, start, hold, flush } = await jobWorld();
  const { id } = await engine.submit(submission({ errorRetries: 1 }));
  await desk.take(worker("w1"), one);
  // From now on its claim survives a restart.
  await queue.due(clock.now(), 10);
  const restarted = start();
  hold();
  const reported = restarted.desk.report(worker("w1"), [report(id, '{"error":"no"}')]);
  await idle();
  void restarted.desk.ping(worker("w1"), new Set([id]));
  const taken = restarted.desk.take(worker("w1"), { ...one, waitMs: 60_000 });
  await flush();
  await reported;
  expect((await taken).map(({ job }) => job.id)).toEqual([id]);
});

test("a job that was given back and claimed back by the same attempt keeps its counts when its handler fails", async () => {
  const { clock, engine, desk, queue } = await jobWorld();
  const { id } = await engine.submit(submission({ errorRetries: 1 }));
  await desk.take(worker("w1"), one);
  await desk.ended(worker("w1"));
  await engine.settleDue(await queue.due(clock.now(), 10));
  await desk.report(worker("w1"), [report(id, '{"status":"IN_PROGRESS","output":1}', 1)]);
  await desk.report(worker("w1"), [report(id, '{"error":"no"}', 1)]);
  const { job } = await engine.read("ep", id);
  expect(job).toMatchObject({ state: "IN_QUEUE", spent: 1, retried: 2, errorsRetried: 1 });
});

test("an error that is reported twice uses up one retry", async () => {
  for (const attempt of [undefined, 1]) {
    const { engine, desk } = await jobWorld();
    const { id } = await engine.submit(submission({ errorRetries: 1 }));
    await desk.take(worker("w1"), one);
    await desk.report(worker("w1"), [report(id, '{"error":"no"}', attempt)]);
    await desk.report(worker("w1"), [report(id, '{"error":"no"}', attempt)]);
    expect((await engine.read("ep", id)).job).toMatchObject({ state: "IN_QUEUE", attempt: 1, errorsRetried: 1 });
  }
});

test("a worker does not get a job back whose error it has reported, by a ping from before the report", async () => {
  const { engine, desk } = await jobWorld();
  const { id } = await engine.submit(submission({ errorRetries: 1 }));
  await desk.take(worker("w1"), one);
  await desk.report(worker("w1"), [report(id, '{"error":"no"}')]);
  await desk.ping(worker("w1"), new Set([id]));
  expect((await engine.read("ep", id)).job.state).toBe("IN_QUEUE");
});

test("the result of a repeated run is taken, although a restart lost its claim", async () => {
  const { engine, desk, start } = await jobWorld();
  const { id } = await engine.submit(submission({ errorRetries: 1 }));
  await desk.take(worker("w1"), one);
  await desk.report(worker("w1"), [report(id, '{"error":"no"}', 1)]);
  await desk.take(worker("w1"), one);
  const restarted = start();
  await restarted.desk.report(worker("w1"), [report(id, '{"output":1}', 2)]);
  expect((await restarted.engine.read("ep", id)).job).toMatchObject({ state: "COMPLETED", attempt: 2 });
});

test("a result is let go as early as was asked while its job was running", async () => {
  const { clock, engine, desk } = await jobWorld();
  const { id } = await engine.submit(submission());
  await desk.take(worker("w1"), one);
  await engine.shorten("ep", id, 5000);
  await desk.report(worker("w1"), [report(id, '{"output":1}')]);
  expect((await engine.read("ep", id)).job.expiresAt).toBe(clock.now() + 5000);
});

test("of two who ask at once for less time, the one who asks for the least has it, although the job ends meanwhile", async () => {
  const { clock, engine, desk, hold, flush } = await jobWorld();
  const { id } = await engine.submit(submission());
  await desk.take(worker("w1"), one);
  hold();
  const asked = [
    engine.shorten("ep", id, 5000),
    engine.shorten("ep", id, 7000),
    desk.report(worker("w1"), [report(id, '{"output":1}')]),
  ];
  await flush();
  await flush();
  await Promise.all(asked);
  expect((await engine.read("ep", id)).job.expiresAt).toBe(clock.now() + 5000);
});

test("two chunks that arrive at once after a restart are both kept", async () => {
  const { engine, desk, start } = await jobWorld();
  const { id } = await engine.submit(submission());
  await desk.take(worker("w1"), one);
  const restarted = start();
  const call = worker("w1");
  await Promise.all([
    restarted.desk.stream(call, { id, chunks: ['{"output":1}'] }),
    restarted.desk.stream(call, { id, chunks: ['{"output":2}'] }),
  ]);
  const chunks = await restarted.queue.chunks(id, { attempt: 0, sequence: 0 }, 10);
  expect(chunks.map(({ sequence, text }) => [sequence, text])).toEqual([
    [1, '{"output":1}'],
    [2, '{"output":2}'],
  ]);
});

test("a worker is told to stop a cancelled job once the cancel is durable, and not before", async () => {
  const { engine, desk, hold, flush } = await jobWorld();
  const { id } = await engine.submit(submission());
  await desk.take(worker("w1"), one);
  let stops: string[] | undefined;
  void desk.stops(worker("w1"), { waitMs: 60_000, gone: here }).then((ids) => {
    stops = ids;
  });
  hold();
  void engine.cancel("ep", id);
  await idle();
  void desk.ping(worker("w1"), new Set([id]));
  await idle();
  expect(stops).toBeUndefined();
  await flush();
  expect(stops).toEqual([id]);
});

test("a worker that waits for work gets a retried job once it has reported its earlier run, which no longer counts", async () => {
  const { clock, engine, desk, queue } = await jobWorld();
  const { id } = await engine.submit(submission({ executionTimeoutMs: 10_000 }));
  await desk.take(worker("w1"), one);
  await desk.ping(worker("w1"), new Set([id]));
  await clock.advance(10_000);
  await engine.settleDue(await queue.due(clock.now(), 10));
  await engine.retry("ep", id);
  const taken = desk.take(worker("w1"), { ...one, waitMs: 60_000 });
  await desk.report(worker("w1"), [report(id, '{"output":"old"}')]);
  expect((await taken).map(({ job }) => [job.id, job.attempt])).toEqual([[id, 2]]);
});
