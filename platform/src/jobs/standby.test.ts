/** Jobs that begin as they are submitted, for workers that wait. */
import { describe, expect, test } from "vitest";
import { here, jobWorld, report, submission, worker } from "../../tests/engine-world.ts";
import { idle } from "../../tests/idle.ts";
import type { Claimed } from "../ports/queue/queue.ts";

const w = worker("w");
const waiting = { limit: 1, waitMs: 20_000, gone: here };
const now = { limit: 1, waitMs: 0, gone: here };
const ids = (claimed: Claimed[]) => claimed.map(({ job }) => job.id);
const world = () => jobWorld({ beginsAtOnce: true });

/** A worker that waits, and a job on its way to the disk that begins for it. */
async function beginning() {
  const made = await world();
  const gone = new AbortController();
  const take = made.desk.take(w, { ...waiting, gone: gone.signal });
  await idle();
  made.hold();
  const submitted = made.engine.submit(submission());
  await idle();
  return { ...made, gone, take, submitted };
}

test("a job that is submitted while a worker waits begins for it, without a call and without a claim", async () => {
  const { desk, engine, signals } = await world();
  let calls = 0;
  signals.listen("work:ep", () => calls++);
  const take = desk.take(w, waiting);
  await idle();
  const { id, state } = await engine.submit(submission());
  const [claimed] = await take;
  expect([state, calls]).toEqual(["IN_QUEUE", 0]);
  expect(claimed).toMatchObject({ job: { id, state: "IN_PROGRESS", attempt: 1, holder: w.worker } });
  await desk.report(w, [report(id, '{"output":1}')]);
  expect((await engine.read("ep", id)).job).toMatchObject({ state: "COMPLETED", spent: 1 });
});

test("the worker does not hear of it before it is on the disk", async () => {
  const { take, submitted, flush } = await beginning();
  let isTold = false;
  void take.then(() => {
    isTold = true;
  });
  await idle();
  expect(isTold).toBe(false);
  await flush();
  expect(ids(await take)).toEqual([(await submitted).id]);
});

test("whoever waits for its end is told", async () => {
  const { desk, engine } = await world();
  const take = desk.take(w, waiting);
  await idle();
  const id = engine.newId("runsync");
  const ended = engine.submitAndWait({ ...submission(), mode: "runsync" }, { waitMs: 60_000, gone: here }, id);
  await take;
  await desk.report(w, [report(id, '{"output":1}')]);
  expect(await ended).toMatchObject({ job: { state: "COMPLETED" }, result: '{"output":1}' });
});

test("jobs that a worker cannot take wait, and others are called for them", async () => {
  const { desk, engine } = await world();
  const first = desk.take(w, waiting);
  await idle();
  const [one, two] = await Promise.all([engine.submit(submission()), engine.submit(submission())]);
  expect(ids(await first)).toEqual([one.id]);
  expect(ids(await desk.take(worker("other"), now))).toEqual([two.id]);
});

test("a job that comes while another one waits does not begin, and the worker that stood by is called for it", async () => {
  const { desk, engine } = await world();
  const { id: old } = await engine.submit(submission());
  const before = worker("before");
  await desk.take(before, now);
  await desk.ping(w, new Set([old]));
  const take = desk.take(w, waiting);
  // The job waits again, and this worker must not get it, since it says that it is at it.
  await desk.ended(before);
  await idle();
  const { id } = await engine.submit(submission());
  expect([ids(await take), (await engine.read("ep", old)).job.state]).toEqual([[id], "IN_QUEUE"]);
});

test("a job of an endpoint that is shared since the worker began to wait does not begin, so that it is claimed in turns", async () => {
  let isShared = false;
  const { desk, engine, signals } = await jobWorld({ beginsAtOnce: true, isShared: () => isShared });
  let calls = 0;
  signals.listen("work:ep", () => calls++);
  const take = desk.take(w, waiting);
  await idle();
  isShared = true;
  const { id } = await engine.submit(submission());
  expect([ids(await take), calls]).toEqual([[id], 1]);
});

describe("when the worker is gone before the job is on the disk,", () => {
  test("the job goes to another one and has lost no attempt", async () => {
    const { desk, gone, take, submitted, flush } = await beginning();
    const other = desk.take(worker("other"), waiting);
    gone.abort();
    await flush();
    const { id } = await submitted;
    await flush();
    expect(await take).toEqual([]);
    expect((await other)[0]?.job).toMatchObject({ id, attempt: 2, spent: 1 });
  });
});

describe("a worker that is to be frozen", () => {
  test("is not while a job begins for it", async () => {
    const { desk, take, submitted, flush } = await beginning();
    const frozen = desk.withheld.freeze(w, async () => {});
    await flush();
    expect([await frozen, ids(await take)]).toEqual([false, [(await submitted).id]]);
  });

  test("gets no more jobs", async () => {
    const { desk, engine } = await world();
    const take = desk.take(w, waiting);
    await idle();
    const stopping = Promise.withResolvers<void>();
    const frozen = desk.withheld.freeze(w, () => stopping.promise);
    const { id } = await engine.submit(submission());
    expect((await engine.read("ep", id)).job.state).toBe("IN_QUEUE");
    stopping.resolve();
    expect([await frozen, await take]).toEqual([true, []]);
  });
});

test("a drained worker gets no more jobs", async () => {
  const { desk, engine } = await world();
  const take = desk.take(w, waiting);
  await idle();
  await desk.drain(w);
  const { id } = await engine.submit(submission());
  expect([await take, (await engine.read("ep", id)).job.state]).toEqual([[], "IN_QUEUE"]);
});

test("jobs that return while one begins for a worker go to others before it has begun", async () => {
  const { desk, engine, hold, flush } = await world();
  const back = [await engine.submit(submission()), await engine.submit(submission())].map(({ id }) => id);
  await desk.take(worker("dies"), { ...now, limit: 2 });
  const take = desk.take(w, waiting);
  const got: string[] = [];
  for (const name of ["one", "two"]) void desk.take(worker(name), waiting).then((claimed) => got.push(...ids(claimed)));
  await idle();
  hold();
  const returned = desk.ended(worker("dies"));
  await idle();
  const submitted = engine.submit(submission());
  await idle();
  await flush();
  expect(got.toSorted()).toEqual(back);
  await flush();
  expect(ids(await take)).toEqual([(await submitted).id]);
  await returned;
});

test("a worker whose wait is over before its job has begun keeps no call from others", async () => {
  const { desk, engine, clock, hold, flush } = await world();
  const { id: back } = await engine.submit(submission());
  await desk.take(worker("dies"), now);
  const take = desk.take(w, { ...waiting, waitMs: 5_000 });
  const got: string[] = [];
  void desk.take(worker("other"), waiting).then((claimed) => got.push(...ids(claimed)));
  await idle();
  hold();
  const returned = desk.ended(worker("dies"));
  await idle();
  const submitted = engine.submit(submission());
  await idle();
  await clock.advance(5_000);
  await flush();
  expect(got).toEqual([back]);
  await flush();
  expect(ids(await take)).toEqual([(await submitted).id]);
  await returned;
});

test("a worker that is called for another job meanwhile passes the call on", async () => {
  const { desk, engine, signals, take, submitted, flush } = await beginning();
  const other = desk.take(worker("other"), waiting);
  await idle();
  // A job that another node has submitted, which is not seen here yet.
  signals.emit("work:ep");
  await flush();
  expect(ids(await take)).toEqual([(await submitted).id]);
  const late = engine.submit(submission());
  await flush();
  expect(ids(await other)).toEqual([(await late).id]);
});
