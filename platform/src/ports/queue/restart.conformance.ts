/** What every Queue still knows after it was closed and opened again. */
import { expect, test } from "vitest";
import {
  apply,
  claim,
  claimIds,
  ENDPOINT,
  fail,
  finish,
  giveBack,
  lowPriority,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  outgoing,
  policy,
  reading,
  retry,
  running,
  text,
} from "./conformance-jobs.ts";

const GRACE_MS = 30_000;
/** A database has a real clock, which moves on during the test. */
const SLACK_MS = 5_000;

export function restartConformance(open: OpenQueue): void {
  test("waiting jobs are all there, in their order, the returned ones in front", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    const { queue } = opened;
    await queue.enqueue([...numbered(6).map((id) => newJob(id)), lowPriority("low1"), lowPriority("low2")]);
    await claim(queue, { limit: 3 });
    await apply(queue, giveBack("j1"));
    await apply(queue, giveBack("j0"), giveBack("j2", { place: "back" }));
    const again = await opened.reopen();
    await again.enqueue([newJob("late")]);
    await running(again, newJob("x", { endpoint: "other" }));
    expect(await claimIds(again)).toEqual(["j0", "j1", "j3", "j4", "j5", "j2", "late", "low1", "low2"]);
  });

  test("a job returned after a restart still comes first", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await opened.queue.enqueue(["a", "b", "c"].map((id) => newJob(id)));
    await claim(opened.queue, { limit: 2 });
    await apply(opened.queue, giveBack("b"));
    const again = await opened.reopen();
    await apply(again, giveBack("a"));
    expect(await claimIds(again)).toEqual(["a", "b", "c"]);
  });

  test("running jobs are still held, and their holder can finish them", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await running(opened.queue, newJob("j1", { webhooks: ["https://example.org"], sealed: true }));
    const before = await reading(opened.queue, "j1");
    const again = await opened.reopen();
    expect(await reading(again, "j1")).toEqual(before);
    expect(await again.held("w1")).toEqual([before.job]);
    expect(await claimIds(again)).toEqual([]);
    await again.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: "1" }]);
    await apply(again, finish("j1", { when: { states: ["IN_PROGRESS"], holder: "w1", attempt: 1 } }));
    expect(await again.chunks("j1", { attempt: 0, sequence: 0 }, 9)).toHaveLength(1);
  });

  test("a chunk that came before the restart is still known by its key", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await running(opened.queue, newJob("j1"));
    const chunk = { id: "j1", attempt: 1, text: "1", key: "a" };
    await opened.queue.append("w1", [{ ...chunk, sequence: 1 }]);
    const again = await opened.reopen();
    await again.append("w1", [
      { ...chunk, sequence: 2 },
      { ...chunk, sequence: 3, key: "b" },
    ]);
    const kept = await again.chunks("j1", { attempt: 0, sequence: 0 }, 9);
    expect(kept.map(({ sequence }) => sequence)).toEqual([1, 3]);
  });

  test("holders get a grace before their jobs are due", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await opened.queue.renew("w1", ENDPOINT, 10);
    await running(opened.queue, newJob("j1"), "w1");
    await opened.elapse(3_000);
    const again = await opened.reopen();
    await opened.elapse(GRACE_MS - SLACK_MS);
    expect(await again.due(NOW, 9)).toEqual([]);
    await opened.elapse(SLACK_MS);
    expect(await again.due(NOW, 9)).toMatchObject([{ job: { id: "j1" }, why: "holder" }]);
    await again.renew("w1", ENDPOINT, SLACK_MS);
    expect(await again.due(NOW, 9)).toEqual([]);
  });

  test("deadlines are kept", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await opened.queue.renew("w1", ENDPOINT, 0);
    await running(opened.queue, newJob("runs", { policy: { executionTimeoutMs: 500 } }));
    await opened.queue.enqueue([newJob("waits", { policy: { ttlMs: 400 } })]);
    const again = await opened.reopen();
    expect(await again.due(NOW + 399, 9)).toEqual([]);
    expect(await again.due(NOW + 400, 9)).toMatchObject([{ job: { id: "waits" }, why: "ttl" }]);
    const both = await again.due(NOW + 500, 9);
    expect(both.map(({ why }) => why).toSorted()).toEqual(["execution", "ttl"]);
  });

  test("results, payloads, progress, chunks, keys, counters, messages and purges are kept", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    const { queue } = opened;
    const large = `"${"ü".repeat(200_000)}"`;
    const webhooks = ["https://example.org"];
    const idempotency = { key: "k", digest: "d" };
    await running(queue, newJob("j1", { body: large, webhooks, idempotency, caller: "someone" }));
    await queue.append("w1", [{ id: "j1", attempt: 1, sequence: 1, text: "1" }]);
    const also = { webhook: true, count: { completed: 1 } };
    await apply(queue, finish("j1", { result: Buffer.from(large), progress: "1", also }));
    await queue.enqueue([newJob("purged")]);
    await queue.purge(ENDPOINT, NOW);
    await queue.enqueue([newJob("waits")]);
    const before = await reading(queue, "j1");
    const messages = await outgoing(queue, NOW, { caller: "someone" });

    const again = await opened.reopen();
    const after = await reading(again, "j1");
    expect(after.job).toEqual(before.job);
    expect([text(after.body) === large, text(after.result) === large, after.progress]).toEqual([true, true, "1"]);
    expect(await again.chunks("j1", { attempt: 0, sequence: 0 }, 9)).toHaveLength(1);
    const [known] = await again.enqueue([newJob("j2", { idempotency: { key: "k", digest: "other" } })]);
    expect(known).toEqual({ known: true, job: before.job, digest: "d" });
    expect(await again.counts(ENDPOINT)).toMatchObject({ completed: 1, inQueue: 1, inProgress: 0 });
    expect(messages).toHaveLength(1);
    expect(await outgoing(again, NOW, { caller: "someone" })).toEqual(messages);
    expect(await again.read("purged", NOW)).toBe("purged");
  });

  test("an ended job can be retried after a restart", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, fail("j1"));
    const again = await opened.reopen();
    await apply(again, retry("j1"));
    expect(await claim(again)).toMatchObject([{ job: { id: "j1", attempt: 2 }, body: newJob("j1").body }]);
  });

  test("expiry goes on after a restart", async (context) => {
    await using opened = await open();
    if (typeof opened.reopen !== "function") return context.skip(opened.reopen.cannot);
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, finish("j1"));
    const again = await opened.reopen();
    expect(await again.expire(NOW + policy.retentionMs, 9)).toBe(1);
    expect(await again.read("j1", NOW)).toBeUndefined();
  });
}
