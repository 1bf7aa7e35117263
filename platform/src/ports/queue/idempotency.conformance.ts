/** What every Queue does with a job that is sent again with the same key. */
import { expect, test } from "vitest";
import {
  apply,
  claimIds,
  ENDPOINT,
  enqueue,
  finish,
  NOW,
  newJob,
  type OpenQueue,
  policy,
  reading,
  running,
} from "./conformance-jobs.ts";

const keyed = (id: string, options: Parameters<typeof newJob>[1] = {}) =>
  newJob(id, { idempotency: { key: "k1", digest: `digest of ${id}` }, ...options });

export function idempotencyConformance(open: OpenQueue): void {
  test("a second job with a known key is the first one, with the digest of its body", async () => {
    await using opened = await open();
    const [first] = await opened.queue.enqueue([keyed("j1")]);
    expect(first).toMatchObject({ known: false, job: { id: "j1" } });
    const [second] = await opened.queue.enqueue([keyed("j2", { body: Buffer.from(`"${"x".repeat(400_000)}"`) })]);
    expect(second).toEqual({ known: true, job: first!.job, digest: "digest of j1" });
    expect(await opened.queue.read("j2", NOW)).toBeUndefined();
    expect(await claimIds(opened.queue)).toEqual(["j1"]);
  });

  test("of two with one key at once, in one call or in two, one is made and both get it", async () => {
    await using opened = await open();
    const calls = await Promise.all([
      opened.queue.enqueue([keyed("j1"), newJob("free"), keyed("j2")]),
      opened.queue.enqueue([keyed("j3")]),
    ]);
    const answers = calls.flat().filter(({ job }) => job.id !== "free");
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
    expect(answers.filter(({ known }) => !known)).toHaveLength(1);
    expect((await claimIds(opened.queue)).toSorted()).toEqual(["free", answers[0]!.job.id].toSorted());
  });

  test("two nodes on one database make one job of one key", async (context) => {
    await using opened = await open();
    if (typeof opened.another !== "function") return context.skip(opened.another.cannot);
    await using other = await opened.another();
    const calls = Array.from({ length: 20 }, (_, i) => (i % 2 ? other : opened.queue).enqueue([keyed(`j${i}`)]));
    const answers = (await Promise.all(calls)).flat();
    expect(answers.filter(({ known }) => !known)).toHaveLength(1);
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1);
  });

  test("a key means nothing on another endpoint, and another key nothing on this one", async () => {
    await using opened = await open();
    const [, elsewhere, another] = await opened.queue.enqueue([
      keyed("j1"),
      keyed("j2", { endpoint: "other" }),
      keyed("j3", { idempotency: { key: "k2", digest: "d" } }),
    ]);
    expect([elsewhere!.known, another!.known]).toEqual([false, false]);
    // Endpoint and key must not be joined in a way that lets two pairs give the same text.
    const [, slash] = await opened.queue.enqueue([
      keyed("j4", { endpoint: "a", idempotency: { key: "b/c", digest: "d" } }),
      keyed("j5", { endpoint: "a/b", idempotency: { key: "c", digest: "d" } }),
    ]);
    expect(slash!.known).toBe(false);
  });

  test("a key leads to its job in every state", async () => {
    await using opened = await open();
    await running(opened.queue, keyed("j1"));
    expect((await opened.queue.enqueue([keyed("j2")]))[0]).toMatchObject({ known: true, job: { holder: "w1" } });
    await apply(opened.queue, finish("j1"));
    const { job } = await reading(opened.queue, "j1");
    expect((await opened.queue.enqueue([keyed("j3")]))[0]).toEqual({ known: true, job, digest: "digest of j1" });
  });

  test("a key is free once its job was purged, or has expired, removed or not", async () => {
    await using opened = await open();
    const { queue } = opened;
    await queue.enqueue([keyed("purged")]);
    await queue.purge(ENDPOINT, NOW);
    await running(queue, keyed("expires"));
    await apply(queue, finish("expires"));
    const end = NOW + policy.retentionMs;
    expect((await queue.enqueue([keyed("early", { createdAt: end - 1 })]))[0]!.known).toBe(true);
    expect((await queue.enqueue([keyed("later", { createdAt: end })]))[0]).toMatchObject({
      known: false,
      job: { id: "later" },
    });
    await queue.expire(end, 9);
    expect((await queue.enqueue([keyed("last", { createdAt: end })]))[0]!.job.id).toBe("later");
    await claimIds(queue);
    await apply(queue, finish("later"));
    await queue.expire(end, 9);
    expect((await queue.enqueue([keyed("anew", { createdAt: end })]))[0]!.known).toBe(false);
  });

  test("jobs without a key are never the same", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b");
    expect(await claimIds(opened.queue)).toEqual(["a", "b"]);
  });
}
