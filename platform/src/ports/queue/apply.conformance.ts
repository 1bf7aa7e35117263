/** What every Queue guarantees about changes: they are compare-and-sets, and many can be made at once. */
import { expect, test } from "vitest";
import { turn } from "../../kernel/clock.ts";
import {
  apply,
  applyOne,
  cancel,
  claim,
  claimIds,
  enqueue,
  fail,
  finish,
  giveBack,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  policy,
  reading,
  retry,
  running,
  text,
} from "./conformance-jobs.ts";
import { jobLifecycle } from "./job.ts";
import type { JobChange } from "./queue.ts";

const WHY = { reason: "done", reasonCode: "job-overran", error: "why" } as const;

export function applyConformance(open: OpenQueue): void {
  test("a change applies, and answers with the job it made", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const outcome = await applyOne(opened.queue, finish("j1", { set: WHY }));
    const { job } = await reading(opened.queue, "j1");
    expect(outcome).toEqual({ applied: true, job });
    expect(job).toMatchObject({
      state: "COMPLETED",
      endedAt: NOW,
      holder: "w1",
      attempt: 1,
      ...WHY,
    });
    expect(job).not.toHaveProperty("deadline");
  });

  test("a change in a state that it does not name is refused, with the job as it is now", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    const { job } = await reading(opened.queue, "j1");
    expect(await applyOne(opened.queue, finish("j1"))).toEqual({ applied: false, now: job });
    expect(await reading(opened.queue, "j1")).toEqual({ job, body: newJob("j1").body });
  });

  test("a change to a job that does not exist is refused, without a job", async () => {
    await using opened = await open();
    const outcome = await applyOne(opened.queue, cancel("nobody"));
    expect(outcome).toEqual({ applied: false });
    expect(outcome).not.toHaveProperty("now");
  });

  const conditions: [string, JobChange["when"], boolean][] = [
    ["the holder that has it", { states: ["IN_PROGRESS"], holder: "w1" }, true],
    ["another holder", { states: ["IN_PROGRESS"], holder: "w2" }, false],
    ["no holder at all", { states: ["IN_PROGRESS"], holder: null }, false],
    ["its attempt", { states: ["IN_PROGRESS"], attempt: 1 }, true],
    ["an earlier attempt", { states: ["IN_PROGRESS"], attempt: 0 }, false],
    ["as many spent attempts", { states: ["IN_PROGRESS"], spent: 1 }, true],
    ["fewer spent attempts", { states: ["IN_PROGRESS"], attempt: 1, spent: 0 }, false],
    ["the holder that has it and a later attempt", { states: ["IN_PROGRESS"], holder: "w1", attempt: 2 }, false],
    ["no state", { states: [] }, false],
    ["several states", { states: ["FAILED", "IN_PROGRESS"] }, true],
  ];
  test.for(conditions)("a running job's change that names %s", async ([, when, applies]) => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const outcome = await applyOne(opened.queue, finish("j1", { when }));
    expect(outcome.applied).toBe(applies);
    expect((await reading(opened.queue, "j1")).job.state).toBe(applies ? "COMPLETED" : "IN_PROGRESS");
  });

  test("a job that nobody has can be claimed back by naming nobody", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1", "j2");
    const claimBack: JobChange = {
      id: "j1",
      when: { states: ["IN_QUEUE"], holder: null },
      set: { state: jobLifecycle.to("claim"), holder: "w9", attempt: 1, spent: 1, startedAt: NOW, deadline: NOW + 1 },
    };
    await apply(opened.queue, claimBack);
    expect((await opened.queue.held("w9")).map(({ id }) => id)).toEqual(["j1"]);
    expect(await claimIds(opened.queue)).toEqual(["j2"]);
    expect(await applyOne(opened.queue, claimBack)).toMatchObject({ applied: false, now: { holder: "w9" } });
  });

  test("changes of one call see each other, in order", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await enqueue(opened.queue, "j2");
    const outcomes = await opened.queue.apply([giveBack("j1"), finish("j1"), cancel("j2"), cancel("j1"), cancel("j2")]);
    expect(outcomes.map(({ applied }) => applied)).toEqual([true, false, true, true, false]);
    expect(outcomes[1]).toMatchObject({ now: { id: "j1", state: "IN_QUEUE" } });
    expect((await reading(opened.queue, "j1")).job.state).toBe("CANCELLED");
  });

  test("no changes are none", async () => {
    await using opened = await open();
    expect(await opened.queue.apply([])).toEqual([]);
  });

  test("of 50 who finish a job at once, one succeeds, and its result stays", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, i) => applyOne(opened.queue, finish("j1", { result: `{"output":${i}}` }))),
    );
    const winners = outcomes.flatMap(({ applied }, i) => (applied ? [i] : []));
    expect(winners).toHaveLength(1);
    expect((await reading(opened.queue, "j1")).result).toBe(`{"output":${winners[0]}}`);
    for (const outcome of outcomes) {
      if (!outcome.applied) expect(outcome.now).toMatchObject({ state: "COMPLETED" });
    }
  });

  test("calls that change the same jobs in opposite orders all end, and each job is finished once", async () => {
    await using opened = await open();
    const ids = numbered(10);
    await enqueue(opened.queue, ...ids);
    await claim(opened.queue, { limit: 10 });
    const orders = Array.from({ length: 20 }, (_, i) => (i % 2 ? ids : ids.toReversed()));
    const outcomes = await Promise.all(orders.map((order) => opened.queue.apply(order.map((id) => finish(id)))));
    expect(outcomes.flat().filter(({ applied }) => applied)).toHaveLength(10);
  });

  test("what a change clears is absent afterwards", async () => {
    await using opened = await open();
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await running(opened.queue, newJob("j1", { webhooks: ["https://example.org"], trace }));
    await apply(opened.queue, giveBack("j1", { set: { reason: "lost" } }));
    const { job } = await reading(opened.queue, "j1");
    for (const field of ["holder", "startedAt", "deadline"]) expect(job).not.toHaveProperty(field);
    expect(job).toMatchObject({ reason: "lost", webhooks: ["https://example.org"], trace, attempt: 1, spent: 1 });
  });

  test("an ended job can be sent round again, without what its first end left", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, { ...report("j1"), progress: '"half"' });
    await opened.queue.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: "{}" }]);
    await apply(opened.queue, fail("j1", { progress: '"still half"' }));
    expect(await reading(opened.queue, "j1")).toMatchObject({ result: '{"error":"of j1"}', progress: '"still half"' });
    await apply(opened.queue, retry("j1", { set: { barred: "w1" } }));
    const again = await reading(opened.queue, "j1");
    expect(again.job).toMatchObject({ state: "IN_QUEUE", attempt: 1, spent: 0, barred: "w1" });
    for (const field of ["holder", "endedAt", "expiresAt"]) expect(again.job).not.toHaveProperty(field);
    expect([again.result, again.progress, text(again.body)]).toEqual([undefined, undefined, newJob("j1").body]);
    expect(await opened.queue.chunks("j1", { attempt: 0, sequence: 0 }, 9)).toEqual([]);
    const [claimed] = await claim(opened.queue, { holder: "w2" });
    expect(claimed).toMatchObject({ job: { id: "j1", attempt: 2, spent: 1, holder: "w2" }, body: newJob("j1").body });
    await apply(opened.queue, finish("j1", { when: { states: ["IN_PROGRESS"], holder: "w2", attempt: 2 } }));
    expect((await reading(opened.queue, "j1")).result).toBe('{"output":"of j1"}');
  });

  test("what a change does not name stays: result, progress and chunks", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await opened.queue.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: "{}" }]);
    await apply(opened.queue, finish("j1", { progress: "1" }));
    const shorter = { states: ["COMPLETED" as const] };
    await apply(opened.queue, { id: "j1", when: shorter, set: { expiresAt: NOW + 5 } });
    expect(await reading(opened.queue, "j1")).toMatchObject({ result: '{"output":"of j1"}', progress: "1" });
    expect(await opened.queue.chunks("j1", { attempt: 0, sequence: 0 }, 9)).toHaveLength(1);
    expect(await opened.queue.read("j1", NOW + 5)).toBeUndefined();
  });

  test("a waiting or running job's terms can be changed", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    const shorter = { ...policy, retentionMs: 7, executionTimeoutMs: 11 };
    await apply(opened.queue, { id: "j1", when: { states: ["IN_QUEUE"] }, set: { policy: shorter } });
    const [claimed] = await claim(opened.queue);
    expect(claimed!.job).toMatchObject({ policy: shorter, deadline: NOW + 11 });
    expect((await reading(opened.queue, "j1")).job.policy).toEqual(shorter);
  });

  test("how far a stream was read and what became of messages stay with the job, also after its end", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const cursor = { attempt: 1, sequence: 7 };
    const deliveries = [{ url: "https://example.org", at: NOW, status: 500 }];
    await apply(opened.queue, finish("j1"));
    await apply(opened.queue, { id: "j1", when: { states: ["COMPLETED"] }, set: { cursor, deliveries } });
    expect((await reading(opened.queue, "j1")).job).toMatchObject({ state: "COMPLETED", cursor, deliveries });
    await apply(opened.queue, { id: "j1", when: { states: ["COMPLETED"] }, set: {}, clear: ["cursor"] });
    expect((await reading(opened.queue, "j1")).job).not.toHaveProperty("cursor");
  });

  test("the newest progress is read, and goes when asked", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    for (const progress of ["1", '{"two":"zwei ü"}']) await apply(opened.queue, { ...report("j1"), progress });
    expect((await reading(opened.queue, "j1")).progress).toBe('{"two":"zwei ü"}');
    await apply(opened.queue, finish("j1", { progress: null }));
    expect((await reading(opened.queue, "j1")).progress).toBeUndefined();
  });

  test("a change that was answered is read, though a later one of the same job is on its way", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    const first = applyOne(opened.queue, { id: "j1", when: { states: ["IN_PROGRESS"] }, set: { reason: "first" } });
    await turn();
    const second = applyOne(opened.queue, finish("j1"));
    await first;
    expect((await reading(opened.queue, "j1")).job).toHaveProperty("reason", "first");
    await second;
  });

  test("later changes reach no record that was handed out before", async () => {
    await using opened = await open();
    const [enqueued] = await opened.queue.enqueue([newJob("j1")]);
    const before = structuredClone(enqueued!.job);
    const [claimed] = await claim(opened.queue);
    const begun = structuredClone(claimed!.job);
    await apply(opened.queue, finish("j1"));
    expect(enqueued!.job).toEqual(before);
    expect(claimed!.job).toEqual(begun);
  });

  test("of changes that lower a field, the lowest counts, in whatever order they come", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    const live = { states: ["IN_QUEUE", "IN_PROGRESS"] as const };
    const retention = (retentionMs: number) => ({ id: "j1", when: live, set: {}, lower: { retentionMs } });
    await Promise.all([5000, 3000, 4000].map((retentionMs) => apply(opened.queue, retention(retentionMs))));
    await apply(opened.queue, { ...retention(9000), lower: { retentionMs: 9000, expiresAt: NOW + 1 } });
    const { job } = await reading(opened.queue, "j1");
    expect(job.policy).toEqual({ ...policy, retentionMs: 3000 });
    expect(job).not.toHaveProperty("expiresAt");
    await claim(opened.queue);
    await apply(opened.queue, finish("j1"));
    const expiry = (expiresAt: number) => ({
      ...{ id: "j1", when: { states: ["COMPLETED" as const] }, set: {}, lower: { expiresAt } },
    });
    await Promise.all([50, 30, 40].map((ms) => apply(opened.queue, expiry(NOW + ms))));
    await apply(opened.queue, expiry(NOW + 90), expiry(NOW + 35));
    expect((await reading(opened.queue, "j1")).job.expiresAt).toBe(NOW + 30);
  });

  test("an end that asks for it expires by the retention that the job has by then", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, {
      ...{ id: "j1", when: { states: ["IN_PROGRESS"] }, set: {}, lower: { retentionMs: 700 } },
    });
    const end = {
      ...finish("j1"),
      set: { state: jobLifecycle.to("complete"), endedAt: NOW + 5 },
      also: { expiry: true },
    } as const;
    const outcome = await applyOne(opened.queue, end);
    expect(outcome).toMatchObject({ applied: true, job: { endedAt: NOW + 5, expiresAt: NOW + 705 } });
    expect(await opened.queue.expire(NOW + 704, 9)).toBe(0);
    expect(await opened.queue.expire(NOW + 705, 9)).toBe(1);
  });
}

/** A change that only reports and sets nothing, as progress does. */
function report(id: string): JobChange {
  return { id, when: { states: ["IN_PROGRESS"], holder: "w1", attempt: 1 }, set: {} };
}
