/** The SQLite queue shows nothing before it is on disk, and a failed write leaves no trace. */
import { describe, expect, test } from "vitest";
import { setup } from "../../../tests/held-queue.ts";
import { idle } from "../../../tests/idle.ts";
import { turn } from "../../kernel/clock.ts";
import {
  apply,
  cancel,
  claim,
  claimIds,
  ENDPOINT,
  enqueue,
  fail,
  finish,
  giveBack,
  NOW,
  newJob,
  outgoing,
  policy,
  reading,
  retry,
  running,
} from "../../ports/queue/conformance-jobs.ts";
import { jobLifecycle } from "../../ports/queue/job.ts";
import type { JobChange, Queue } from "../../ports/queue/queue.ts";

const LARGE = Buffer.from(`"${"x".repeat(300_000)}"`);
const unavailable = { code: "unavailable" };

/** Everything that a queue shows, to compare memory with disk. */
async function shown(queue: Queue) {
  const { jobs } = await queue.list({ endpoint: ENDPOINT, offset: 0, limit: 100, now: NOW });
  const readings = await Promise.all(jobs.map(({ id }) => reading(queue, id)));
  const held = (await queue.held("w1")).map(({ id }) => id).toSorted();
  return { readings, held, counts: await queue.counts(ENDPOINT), outgoing: await outgoing(queue, NOW) };
}

/** Whether the promise is settled once everything that can run has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => (settled = true);
  promise.then(settle, settle);
  await idle();
  return settled;
}

test("a job that is not on the disk yet is shown to nobody", async () => {
  await using world = await setup();
  world.flusher.hold();
  const enqueued = enqueue(world.queue, "j1");
  expect(await isSettled(enqueued)).toBe(false);
  expect(await world.queue.read("j1", NOW, ["body"])).toBeUndefined();
  expect(await claimIds(world.queue)).toEqual([]);
  expect(await world.queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0 });
  world.flusher.release();
  await enqueued;
  expect(await world.queue.counts(ENDPOINT)).toMatchObject({ inQueue: 1 });
  expect(await claimIds(world.queue)).toEqual(["j1"]);
});

test("a result that is not on the disk yet is shown to nobody", async () => {
  await using world = await setup();
  await running(world.queue, newJob("j1", { webhooks: ["https://example.org"] }));
  const before = await shown(world.queue);
  world.flusher.hold();
  const finished = apply(world.queue, finish("j1", { also: { webhook: true, count: { completed: 1 } } }));
  expect(await isSettled(finished)).toBe(false);
  expect(await shown(world.queue)).toEqual({ ...before, held: [] });
  world.flusher.release();
  await finished;
  expect((await shown(world.queue)).readings[0]).toMatchObject({ job: { state: "COMPLETED" } });
});

test("a returned job is claimed by nobody before its return is on the disk", async () => {
  await using world = await setup();
  await running(world.queue, newJob("j1"));
  world.flusher.hold();
  const returned = apply(world.queue, giveBack("j1"));
  expect(await claimIds(world.queue)).toEqual([]);
  world.flusher.release();
  await returned;
  expect(await claimIds(world.queue)).toEqual(["j1"]);
});

const claimedBack: JobChange = {
  id: "j1",
  when: { states: ["IN_QUEUE"] },
  set: { state: jobLifecycle.to("claim"), holder: "w1", attempt: 1, spent: 1, startedAt: NOW, deadline: NOW + 1000 },
};
const shortened: JobChange = { id: "j1", when: { states: ["IN_QUEUE"] }, set: {}, lower: { retentionMs: 1 } };

test("a job that its worker claimed back and returned can be taken once that is answered, also while another change of it is under way", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  await apply(world.queue, claimedBack);
  world.flusher.hold();
  const returned = apply(world.queue, giveBack("j1"));
  await idle();
  // The flush with the return is under way, so this change comes with the next.
  const done = apply(world.queue, shortened);
  world.flusher.release();
  await returned;
  expect(await claimIds(world.queue)).toEqual(["j1"]);
  await done;
});

test("a claim is shown at once while another change of the job is under way, and still when that is on the disk", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  world.flusher.hold();
  const done = apply(world.queue, shortened);
  await idle();
  expect(await claimIds(world.queue)).toEqual(["j1"]);
  const seen = async () => [(await reading(world.queue, "j1"))?.job, await world.queue.counts(ENDPOINT)];
  const claimed = [
    { state: "IN_PROGRESS", holder: "w1", attempt: 1 },
    { inQueue: 0, inProgress: 1 },
  ];
  expect(await seen()).toMatchObject(claimed);
  const finished = apply(world.queue, finish("j1"));
  world.flusher.release();
  // The end comes with the next flush.
  world.flusher.hold();
  await done;
  expect(await seen()).toMatchObject(claimed);
  world.flusher.release();
  await finished;
});

test("a refusal waits for the change that it rests on", async () => {
  await using world = await setup();
  await running(world.queue, newJob("j1"));
  world.flusher.hold();
  const finished = world.queue.apply([finish("j1")]);
  const refused = world.queue.apply([cancel("j1")]);
  expect(await isSettled(refused)).toBe(false);
  world.flusher.release();
  expect(await refused).toMatchObject([{ applied: false, now: { state: "COMPLETED" } }]);
  await finished;
});

test("a second job with the same key waits until the first is on the disk", async () => {
  await using world = await setup();
  world.flusher.hold();
  const idempotency = { key: "k", digest: "d" };
  const first = world.queue.enqueue([newJob("j1", { idempotency })]);
  const second = world.queue.enqueue([newJob("j2", { idempotency })]);
  expect(await isSettled(second)).toBe(false);
  world.flusher.release();
  expect(await second).toMatchObject([{ known: true, job: { id: "j1" } }]);
  await first;
});

test("a change to a job whose purge is not on the disk yet waits for it", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  world.flusher.hold();
  const purged = world.queue.purge(ENDPOINT, NOW + 1);
  const refused = world.queue.apply([cancel("j1")]);
  expect(await isSettled(refused)).toBe(false);
  expect(await reading(world.queue, "j1")).toMatchObject({ job: { state: "IN_QUEUE" } });
  expect(await world.queue.counts(ENDPOINT)).toMatchObject({ inQueue: 1 });
  world.flusher.release();
  expect(await refused).toEqual([{ applied: false }]);
  expect(await purged).toEqual(["j1"]);
});

/** Writes down the claims, as a running server does once a second. */
async function sweep(queue: Queue): Promise<void> {
  await queue.due(NOW, 100);
  await idle();
}

test("a claim is written with the next look for what is due, and stays when a crash comes after that", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  await claim(world.queue);
  await sweep(world.queue);
  const after = await world.afterCrash();
  expect(await reading(after, "j1")).toMatchObject({ job: { state: "IN_PROGRESS", attempt: 1, holder: "w1" } });
  expect(await claimIds(after)).toEqual([]);
});

test("a job that ends before its claim was written is written once, with its holder and attempt", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  const flushes = world.flusher.flushes;
  await claim(world.queue);
  await apply(world.queue, finish("j1"));
  await sweep(world.queue);
  expect(world.flusher.flushes - flushes).toBe(1);
  const after = await world.afterCrash();
  expect(await reading(after, "j1")).toMatchObject({ job: { state: "COMPLETED", attempt: 1, holder: "w1" } });
});

test("chunks bring the claim of their attempt to the disk with them", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  await claim(world.queue);
  await world.queue.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: "1" }]);
  const after = await world.afterCrash();
  expect(await reading(after, "j1")).toMatchObject({ job: { state: "IN_PROGRESS", attempt: 1, holder: "w1" } });
});

test("a claim is not awaited, and one that a crash loses leaves the job waiting", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  expect(await claimIds(world.queue)).toEqual(["j1"]);
  const after = await world.afterCrash();
  expect(await reading(after, "j1")).toMatchObject({ job: { state: "IN_QUEUE", attempt: 0 } });
  expect(await claimIds(after)).toEqual(["j1"]);
});

test("a failed flush refuses all that was under way, shows nothing of it, and later work goes on", async () => {
  await using world = await setup();
  const { queue, flusher } = world;
  await queue.enqueue(
    ["runs", "returns", "waits", "more"].map((id) => newJob(id, { webhooks: ["https://example.org"] })),
  );
  await claim(queue, { limit: 2 });
  await queue.renew("w1", ENDPOINT, 5);
  const before = await shown(queue);
  flusher.hold();
  flusher.failures = 1;
  const refused = [
    queue.apply([finish("runs", { also: { webhook: true, count: { completed: 1 } } })]),
    queue.apply([cancel("runs")]),
    queue.enqueue([newJob("new", { idempotency: { key: "k", digest: "d" } })]),
    queue.enqueue([newJob("same", { idempotency: { key: "k", digest: "d" } })]),
    queue.apply([giveBack("returns")]),
    queue.append("w1", [{ id: "runs", attempt: 1, sequence: 1, text: "1" }]),
    queue.purge(ENDPOINT, NOW + 1),
    queue.settle("runs", "https://example.org", "done"),
  ];
  flusher.release();
  const settled = await Promise.allSettled(refused);
  expect(settled).toMatchObject(settled.map(() => ({ status: "rejected", reason: unavailable })));
  expect(await shown(queue)).toEqual(before);
  expect(await shown(await world.afterCrash())).toEqual(before);
  expect(await queue.read("new", NOW)).toBeUndefined();
  expect(await queue.holders(ENDPOINT)).toMatchObject([{ holder: "w1", jobs: 2 }]);

  await apply(queue, finish("runs", { also: { count: { completed: 1 } } }), giveBack("returns"));
  await queue.enqueue([newJob("new", { idempotency: { key: "k", digest: "d" } })]);
  expect(await claimIds(queue)).toEqual(["returns", "waits", "more", "new"]);
  expect(await queue.counts(ENDPOINT)).toMatchObject({ completed: 1, inQueue: 0, inProgress: 4 });
});

test("a claim that could not be written stays with its holder, and is written later", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1", "j2");
  world.flusher.failures = 1;
  expect(await claimIds(world.queue, { limit: 1 })).toEqual(["j1"]);
  await sweep(world.queue);
  expect(await world.queue.held("w1")).toMatchObject([{ id: "j1", attempt: 1 }]);
  expect(await claimIds(world.queue, { holder: "w2" })).toEqual(["j2"]);
  const flushes = world.flusher.flushes;
  await sweep(world.queue);
  expect(world.flusher.flushes).toBe(flushes + 1);
});

test("whoever hears of a failed flush first finds memory as the disk is", async () => {
  await using world = await setup();
  await running(world.queue, newJob("j1"));
  await sweep(world.queue);
  world.flusher.failures = 1;
  const heard = world.queue.apply([finish("j1")]).catch(async () => (await reading(world.queue, "j1")).job.state);
  expect(await heard).toBe("IN_PROGRESS");
});

describe("a claim that is not on the disk yet outlives a failed flush of", () => {
  test.each<[string, (queue: Queue) => Promise<unknown>]>([
    ["another job", (queue) => queue.enqueue([newJob("j2")])],
    ["its own end", (queue) => queue.apply([finish("j1")])],
    ["the claim itself", (queue) => queue.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: "{}" }])],
  ])("%s", async (_what, write) => {
    await using world = await setup();
    await running(world.queue, newJob("j1"));
    world.flusher.failures = 1;
    await expect(write(world.queue)).rejects.toMatchObject(unavailable);
    expect(await claimIds(world.queue)).toEqual([]);
    expect(await world.queue.held("w1")).toMatchObject([{ id: "j1", state: "IN_PROGRESS", attempt: 1 }]);
    expect(await world.queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0, inProgress: 1 });
    expect(await world.queue.apply([finish("j1")])).toMatchObject([{ applied: true, job: { state: "COMPLETED" } }]);
  });
});

test("a full disk refuses jobs with the reason and takes them again once there is room", async () => {
  await using world = await setup();
  await enqueue(world.queue, "j1");
  await world.flusher.flush([{ name: "limitPages", input: 1 }]);
  const large = newJob("large", { body: `"${"x".repeat(200_000)}"` });
  await expect(world.queue.enqueue([large])).rejects.toMatchObject({ ...unavailable, message: /disk is full/ });
  expect(await claimIds(world.queue)).toEqual(["j1"]);
  await world.flusher.flush([{ name: "limitPages", input: 1_000_000 }]);
  await world.queue.enqueue([large]);
  expect(await claimIds(world.queue)).toEqual(["large"]);
});

test("a payload file goes with its job, and with the result that replaces it", async () => {
  await using world = await setup();
  await running(world.queue, newJob("j1", { body: LARGE }));
  await apply(world.queue, fail("j1", { result: LARGE }));
  expect(await world.payloads()).toHaveLength(2);
  await apply(world.queue, retry("j1"));
  expect(await world.payloads()).toHaveLength(1);
  await claim(world.queue);
  await apply(world.queue, finish("j1", { result: LARGE }));
  await world.queue.expire(NOW + policy.retentionMs, 9);
  expect(await world.payloads()).toEqual([]);
});

test("a payload that nothing came to refer to leaves no file", async () => {
  await using world = await setup();
  const idempotency = { key: "k", digest: "d" };
  await world.queue.enqueue([newJob("j1", { idempotency })]);
  await world.queue.enqueue([newJob("j2", { idempotency, body: LARGE })]);
  await world.queue.apply([finish("j1", { result: LARGE }), finish("nobody", { result: LARGE })]);
  world.flusher.failures = 1;
  await expect(world.queue.enqueue([newJob("j3", { body: LARGE })])).rejects.toMatchObject(unavailable);
  expect(await world.payloads()).toEqual([]);
});

test("files that a crash left without a row are swept at the next start, and no others", async () => {
  await using world = await setup();
  await world.queue.enqueue([newJob("j1", { body: LARGE })]);
  await world.strayFile();
  const after = await world.afterCrash();
  expect(await world.payloads()).toHaveLength(1);
  expect((await claim(after))[0]!.body).toEqual(LARGE);
});

test("a result and its job are read of one moment, even while they change", async () => {
  await using world = await setup();
  await running(world.queue, newJob("j1"));
  const states = new Set<string>();
  for (let round = 1; round <= 20; round++) {
    const change = world.queue.apply([fail("j1", { result: round % 2 ? LARGE : '"small"' })]);
    const again = change.then(turn).then(() => world.queue.apply([retry("j1")]));
    let over = false;
    void again.then(() => (over = true));
    do {
      const { job, result } = await reading(world.queue, "j1");
      expect(result !== undefined).toBe(job.state === "FAILED");
      states.add(job.state);
      await turn();
    } while (!over);
    await claim(world.queue);
  }
  expect(states).toContain("FAILED");
});
