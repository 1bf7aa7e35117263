/** A frozen worker gets no job until it asks again after its thaw, and no job is lost meanwhile. */
import { describe, expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";
import type { WorkerCall } from "./worker-desk.ts";

const w = worker("w");
const now = { limit: 1, waitMs: 0, gone: here };
const held = { limit: 1, waitMs: 20_000, gone: here };
const still = async () => {};

async function world() {
  const heard: string[] = [];
  const events = { heard: (call: WorkerCall) => void heard.push(call.worker), unfit() {}, tired() {}, stuck() {} };
  return { heard, ...(await jobWorld({ events })) };
}

describe("freezing", () => {
  test("answers what the worker asked for with nothing, but not before it stands still", async () => {
    const { desk } = await world();
    const stopped = Promise.withResolvers<void>();
    const asked = [desk.take(w, held), desk.stops(w, { waitMs: 25_000, gone: here })];
    let answers = 0;
    for (const one of asked) void one.then(() => answers++);
    const frozen = desk.withheld.freeze(w, () => stopped.promise);
    await idle();
    expect(answers).toBe(0);
    stopped.resolve();
    expect([await frozen, await Promise.all(asked)]).toEqual([true, [[], []]]);
  });

  test("is not for a worker that has a job, or is being given one", async () => {
    const { desk, engine } = await world();
    // After its first take, the worker is known to need no warm-up.
    await desk.take(w, now);
    const { id } = await engine.submit(submission());
    const [taken, whileTaking] = await Promise.all([desk.take(w, now), desk.withheld.freeze(w, still)]);
    expect([taken.length, whileTaking, await desk.withheld.freeze(w, still)]).toEqual([1, false, false]);
    await desk.report(w, [report(id, '{"output":1}')]);
    expect(await desk.withheld.freeze(w, still)).toBe(true);
  });

  test("leaves a job that comes meanwhile to others, and to this one when it could not be frozen", async () => {
    const { desk, engine } = await world();
    const stopping = Promise.withResolvers<void>();
    const take = desk.take(w, held);
    const frozen = desk.withheld.freeze(w, () => stopping.promise);
    await engine.submit(submission());
    expect(await desk.take(worker("other"), now)).toHaveLength(1);
    await engine.submit(submission());
    stopping.reject(new Error("it cannot be stopped"));
    await expect(frozen).rejects.toThrow("it cannot be stopped");
    expect(await take).toHaveLength(1);
  });

  test("makes its silence mean nothing: it is no longer counted among those that are heard of", async () => {
    const { desk, queue } = await world();
    await desk.ping(w, new Set());
    expect(await queue.holders("ep")).toHaveLength(1);
    await desk.withheld.freeze(w, still);
    expect(await queue.holders("ep")).toEqual([]);
  });
});

describe("after the thaw", () => {
  test("what was asked before it gets nothing, however late it comes to be read", async () => {
    const { desk, engine } = await world();
    await desk.withheld.freeze(w, still);
    const late = desk.take(w, held);
    await engine.submit(submission());
    desk.withheld.thaw(w);
    expect([await late, await desk.take(w, now)]).toMatchObject([[], [{}]]);
  });

  test("a worker that was frozen for longer than 90 s takes the job as its first attempt", async () => {
    const { desk, engine, clock } = await world();
    const before = desk.take(w, held);
    await desk.withheld.freeze(w, still);
    await clock.advance(100_000);
    const { id } = await engine.submit(submission());
    desk.withheld.thaw(w);
    expect([await before, (await desk.take(w, now))[0]?.job]).toMatchObject([[], { id, attempt: 1 }]);
  });

  test("it is told of as soon as it speaks, and has been idle since the thaw", async () => {
    const { desk, clock, heard } = await world();
    await desk.ping(w, new Set());
    await desk.withheld.freeze(w, still);
    const late = desk.take(w, held);
    await clock.advance(5000);
    desk.withheld.thaw(w);
    await late;
    expect([heard.length, desk.activeAt(w.worker)]).toEqual([1, clock.now()]);
    await desk.ping(w, new Set());
    expect(heard).toHaveLength(2);
  });
});

test("only a worker that nobody has called for a job is free", async () => {
  const { desk, engine } = await world();
  expect(desk.hasFree("ep")).toBe(false);
  const take = desk.take(w, held);
  await idle();
  expect(desk.hasFree("ep")).toBe(true);
  await engine.submit(submission());
  expect(desk.hasFree("ep")).toBe(false);
  expect(await take).toHaveLength(1);
});
