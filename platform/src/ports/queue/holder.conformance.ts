/** What every Queue knows about holders of jobs, and which jobs ran out of something. */
import { expect, test } from "vitest";
import {
  apply,
  cancel,
  claim,
  ENDPOINT,
  enqueue,
  finish,
  giveBack,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  policy,
  running,
} from "./conformance-jobs.ts";
import { jobLifecycle } from "./job.ts";
import type { Queue } from "./queue.ts";

const MINUTE_MS = 60_000;
/** A database has a real clock, which moves on during the test. */
const SLACK_MS = 5_000;
/** How much longer than promised a holder may count as alive. */
const LATE_MS = 1_000;

async function due(queue: Queue, now: number, limit = 100): Promise<string[]> {
  return (await queue.due(now, limit)).map(({ job, why }) => `${job.id}: ${why}`).toSorted();
}

export function holderConformance(open: OpenQueue): void {
  test("a holder is known until its time is over, with the jobs it has", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c");
    await opened.queue.renew("w1", ENDPOINT, MINUTE_MS);
    await opened.queue.renew("w2", ENDPOINT, 2 * MINUTE_MS);
    await opened.queue.renew("w3", "other", MINUTE_MS);
    await claim(opened.queue, { holder: "w1", limit: 2 });
    const known = await opened.queue.holders(ENDPOINT);
    expect(known.toSorted((a, b) => (a.holder < b.holder ? -1 : 1))).toEqual([
      { holder: "w1", endpoint: ENDPOINT, jobs: 2, leftMs: expect.any(Number) },
      { holder: "w2", endpoint: ENDPOINT, jobs: 0, leftMs: expect.any(Number) },
    ]);
    const all = await opened.queue.holders();
    expect(all.map(({ holder, endpoint }) => `${endpoint}/${holder}`).toSorted()).toEqual(
      [`${ENDPOINT}/w1`, `${ENDPOINT}/w2`, "other/w3"].toSorted(),
    );
    await opened.elapse(MINUTE_MS + LATE_MS);
    expect((await opened.queue.holders(ENDPOINT)).map(({ holder }) => holder)).toEqual(["w2"]);
    expect(await opened.queue.holders("nowhere")).toEqual([]);
  });

  test("how much longer a holder counts as alive is known, and begins anew when it is renewed", async () => {
    await using opened = await open();
    const left = async () => (await opened.queue.holders(ENDPOINT))[0]!.leftMs;
    const isAbout = (ms: number, wanted: number) => ms > wanted - SLACK_MS && ms <= wanted + LATE_MS;
    await opened.queue.renew("w1", ENDPOINT, MINUTE_MS);
    expect(isAbout(await left(), MINUTE_MS)).toBe(true);
    await opened.elapse(MINUTE_MS / 2);
    expect(isAbout(await left(), MINUTE_MS / 2)).toBe(true);
    await opened.queue.renew("w1", ENDPOINT, 2 * MINUTE_MS);
    expect(isAbout(await left(), 2 * MINUTE_MS)).toBe(true);
  });

  test("a holder has what it claimed and has neither finished nor given back", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c", "d");
    await claim(opened.queue, { holder: "w1", limit: 4 });
    await apply(opened.queue, finish("a"), giveBack("b"), cancel("c"));
    const held = await opened.queue.held("w1");
    expect(held).toMatchObject([{ id: "d", state: "IN_PROGRESS", holder: "w1", attempt: 1 }]);
    expect(await opened.queue.held("w2")).toEqual([]);
  });

  test("a job is due once its holder's time is over, and not before", async () => {
    await using opened = await open();
    await opened.queue.renew("w1", ENDPOINT, MINUTE_MS);
    await running(opened.queue, newJob("j1"), "w1");
    await opened.elapse(MINUTE_MS - SLACK_MS);
    expect(await due(opened.queue, NOW)).toEqual([]);
    await opened.elapse(SLACK_MS + LATE_MS);
    const [lapsed] = await opened.queue.due(NOW, 9);
    expect(lapsed).toEqual({ job: (await opened.queue.held("w1"))[0], why: "holder" });
    await opened.queue.renew("w1", ENDPOINT, SLACK_MS);
    expect(await due(opened.queue, NOW)).toEqual([]);
  });

  test("setting the clock forward or back makes no holder's time pass", async () => {
    await using opened = await open();
    await opened.queue.renew("w1", ENDPOINT, MINUTE_MS);
    await running(opened.queue, newJob("j1"), "w1");
    expect(await due(opened.queue, NOW + policy.executionTimeoutMs - 1)).toEqual([]);
    await opened.elapse(MINUTE_MS + LATE_MS);
    expect(await due(opened.queue, NOW - policy.executionTimeoutMs)).toEqual(["j1: holder"]);
  });

  test("a job whose holder was never heard of is due", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"), "stranger");
    expect(await due(opened.queue, NOW)).toEqual(["j1: holder"]);
  });

  test("a retired holder's jobs are due at once; it is known again when it is renewed", async () => {
    await using opened = await open();
    await opened.queue.renew("w1", ENDPOINT, MINUTE_MS);
    await running(opened.queue, newJob("j1"), "w1");
    await opened.queue.retire("w1");
    await opened.queue.retire("nobody");
    expect(await opened.queue.holders(ENDPOINT)).toEqual([]);
    expect(await due(opened.queue, NOW)).toEqual(["j1: holder"]);
    await opened.queue.renew("w1", ENDPOINT, MINUTE_MS);
    expect(await due(opened.queue, NOW)).toEqual([]);
  });

  test("a waiting job is due when its life is over", async () => {
    await using opened = await open();
    await opened.queue.enqueue([newJob("long"), newJob("short", { policy: { ttlMs: 10_000 } })]);
    expect(await due(opened.queue, NOW + 9_999)).toEqual([]);
    expect(await due(opened.queue, NOW + 10_000)).toEqual(["short: ttl"]);
    expect(await due(opened.queue, NOW + policy.ttlMs)).toEqual(["long: ttl", "short: ttl"]);
  });

  test("a running job is due when its execution time is over, and a shorter life comes first", async () => {
    await using opened = await open();
    await opened.queue.renew("w1", ENDPOINT, policy.ttlMs);
    await running(opened.queue, newJob("a"), "w1");
    await running(opened.queue, newJob("b", { policy: { ttlMs: 1_000, executionTimeoutMs: 500 } }), "w1");
    expect(await due(opened.queue, NOW + 499)).toEqual([]);
    expect(await due(opened.queue, NOW + 500)).toEqual(["b: execution"]);
    expect(await due(opened.queue, NOW + 1_000)).toEqual(["b: ttl"]);
    expect(await due(opened.queue, NOW + policy.executionTimeoutMs)).toEqual(["a: execution", "b: ttl"]);
  });

  test("a job that ran out of two things is due once", async () => {
    await using opened = await open();
    await opened.queue.renew("w1", ENDPOINT, 1);
    await running(opened.queue, newJob("j1"), "w1");
    await opened.elapse(1);
    expect(await due(opened.queue, NOW + policy.executionTimeoutMs)).toEqual(["j1: execution"]);
  });

  test("a job that waits again is not due for what it had while it ran", async () => {
    await using opened = await open();
    await opened.queue.renew("w1", ENDPOINT, 1);
    await running(opened.queue, newJob("j1"), "w1");
    await opened.elapse(1);
    const returned = {
      id: "j1",
      when: { states: ["IN_PROGRESS" as const] },
      set: { state: jobLifecycle.to("giveBack") },
    };
    await apply(opened.queue, returned);
    expect(await due(opened.queue, NOW + policy.executionTimeoutMs)).toEqual([]);
  });

  test("an ended job is never due", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"), "stranger");
    await apply(opened.queue, finish("j1"));
    expect(await due(opened.queue, NOW + policy.ttlMs)).toEqual([]);
  });

  test("due jobs come up to a limit, and the rest when those are dealt with", async () => {
    await using opened = await open();
    const ids = numbered(10);
    await enqueue(opened.queue, ...ids);
    await claim(opened.queue, { holder: "stranger", limit: 5 });
    const dealtWith: string[] = [];
    for (let round = 0; round < 4; round++) {
      const some = await opened.queue.due(NOW + policy.ttlMs, 3);
      expect(some.length).toBe(round < 3 ? 3 : 1);
      await apply(opened.queue, ...some.map(({ job }) => cancel(job.id)));
      dealtWith.push(...some.map(({ job }) => job.id));
    }
    expect(dealtWith.toSorted()).toEqual(ids);
  });
}
