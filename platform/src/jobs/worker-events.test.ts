/** What the worker desk reports about workers, and how it releases them. */

import { expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";
import { because, type Reason } from "../kernel/reason.ts";
import type { WorkerCall } from "./worker-desk.ts";

async function world() {
  const told: string[] = [];
  const tell = (what: string) => (call: WorkerCall, reason?: Reason) =>
    void told.push([what, call.worker, reason?.text].filter(Boolean).join(" "));
  const events = { heard: tell("heard"), unfit: tell("unfit"), tired: tell("tired"), stuck: tell("stuck") };
  return { told, ...(await jobWorld({ events })) };
}

const w = worker("w");
const now = { limit: 1, waitMs: 0, gone: here };
const held = { limit: 1, waitMs: 20_000, gone: here };

test("a worker is told of when it speaks for the first time, and again after its end", async () => {
  const { desk, told } = await world();
  await desk.ping(w, new Set());
  await desk.take(w, now);
  expect(told).toEqual(["heard ep/w"]);
  await desk.ended(w);
  await desk.ping(w, new Set());
  expect(told).toEqual(["heard ep/w", "heard ep/w"]);
});

test("a result that asks for a fresh worker, and a worker that is not fit, are told of", async () => {
  const { desk, engine, told } = await world();
  const { id } = await engine.submit(submission());
  await desk.take(w, now);
  await desk.report(w, [report(id, '{"output":1,"stopPod":true}')]);
  await desk.unfit(w, because("not-fit", {}, "no memory"));
  expect(told).toEqual([
    "heard ep/w",
    "tired ep/w its handler asked for a fresh worker",
    "unfit ep/w not fit to work: no memory",
  ]);
});

test("a drained worker's polls are answered at once, and it gets nothing more", async () => {
  const { desk, engine, clock } = await world();
  const take = desk.take(w, held);
  const stop = desk.stops(w, { waitMs: 25_000, gone: here });
  expect(await desk.drain(w)).toBe(false);
  expect([await take, await stop]).toEqual([[], []]);
  await engine.submit(submission());
  const again = desk.take(w, held);
  await clock.advance(1000);
  expect(await again).toEqual([]);
});

test("a worker that has ended gets nothing more by a request that it had made before", async () => {
  const { desk, engine } = await world();
  let answer: unknown;
  void desk.take(w, held).then((jobs) => {
    answer = jobs;
  });
  await desk.ended(w);
  await idle();
  expect(answer).toEqual([]);
  const { id } = await engine.submit(submission());
  expect((await desk.take(worker("another"), now)).map(({ job }) => job.id)).toEqual([id]);
});

test("a drained worker may end the job that it has", async () => {
  const { desk, engine } = await world();
  const { id } = await engine.submit(submission());
  await desk.take(w, now);
  expect(await desk.drain(w)).toBe(true);
  await desk.report(w, [report(id, '{"output":1}')]);
  expect([await desk.drain(w), (await engine.read("ep", id)).job.state]).toEqual([false, "COMPLETED"]);
});

test("a job that comes while a drained worker still asks is for the others", async () => {
  const { desk, engine } = await world();
  await desk.ping(w, new Set());
  await desk.drain(w);
  const drained = desk.take(w, held);
  const other = desk.take(worker("other"), held);
  await engine.submit(submission());
  expect(await other).toHaveLength(1);
  await desk.drain(w);
  expect(await drained).toEqual([]);
});

test("a worker that goes on with a cancelled job for ten seconds, and has no other, is stuck", async () => {
  const { desk, engine, clock, told } = await world();
  const { id } = await engine.submit(submission());
  await desk.take(w, now);
  await desk.ping(w, new Set([id]));
  await engine.cancel("ep", id);
  await desk.ping(w, new Set([id]));
  await clock.advance(10_000);
  await desk.ping(w, new Set([id]));
  expect(told).toEqual(["heard ep/w", "stuck ep/w"]);
});

test("a worker that stops a cancelled job in time, or has another, is not stuck", async () => {
  const { desk, engine, clock, told } = await world();
  const [first, second] = [await engine.submit(submission()), await engine.submit(submission())];
  await desk.take(w, { ...now, limit: 2 });
  await engine.cancel("ep", first.id);
  const both = new Set([first.id, second.id]);
  await desk.ping(w, both);
  await clock.advance(10_000);
  await desk.ping(w, both);
  await desk.report(w, [report(second.id, '{"output":1}')]);
  await desk.ping(w, new Set());
  expect(told).toEqual(["heard ep/w"]);
});

test("a worker that still lists a job whose result it gave is not stuck, and has nothing to stop", async () => {
  const { desk, engine, clock, told } = await world();
  const [done, failed] = [await engine.submit(submission()), await engine.submit(submission())];
  await desk.take(w, { ...now, limit: 2 });
  await desk.report(w, [report(done.id, '{"output":1}'), report(failed.id, '{"error":"no"}')]);
  const both = new Set([done.id, failed.id]);
  await desk.ping(w, both);
  await clock.advance(10_000);
  await desk.ping(w, both);
  expect(told).toEqual(["heard ep/w"]);
  const stops = desk.stops(w, now);
  await clock.advance(0);
  expect(await stops).toEqual([]);
});

test("a worker is active when it takes a job and when it ends one", async () => {
  const { desk, engine, clock } = await world();
  const { id } = await engine.submit(submission());
  expect(desk.activeAt(w.worker)).toBeUndefined();
  await clock.advance(1000);
  await desk.take(w, now);
  const taken = desk.activeAt(w.worker);
  await clock.advance(500);
  await desk.ping(w, new Set([id]));
  expect(desk.activeAt(w.worker)).toBe(taken);
  await desk.report(w, [report(id, '{"output":1}')]);
  expect(desk.activeAt(w.worker)).toBe(taken! + 500);
});

test("a job of a worker that ended runs again at once, and the third death fails it with the reason", async () => {
  const { desk, engine } = await world();
  const { id } = await engine.submit(submission());
  for (const name of ["one", "two", "three"]) {
    expect(await desk.take(worker(name), now)).toHaveLength(1);
    await desk.ended(worker(name), "ended with exit 137");
  }
  const { job } = await engine.read("ep", id);
  const reason = "worker three ended with exit 137 while processing the job; given up after 3 attempts";
  expect([job.state, job.reason]).toEqual(["FAILED", reason]);
});
