/** What every Queue removes, and what it keeps. */
import { expect, test } from "vitest";
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
  tellers,
} from "./conformance-jobs.ts";

const END = NOW + policy.retentionMs;

export function removalConformance(open: OpenQueue): void {
  purgeCases(open);
  expiryCases(open);

  test("removing an endpoint leaves nothing of it, and everything of the others", async () => {
    await using opened = await open();
    const { queue } = opened;
    const webhooks = ["https://example.org"];
    await running(queue, newJob("ended", { webhooks, body: Buffer.from(`"${"x".repeat(400_000)}"`) }));
    await apply(queue, finish("ended", { also: { count: { completed: 1 }, webhook: true } }));
    await running(queue, newJob("runs"));
    await queue.append("w1", [{ id: "runs", attempt: 1, sequence: 1, text: "1" }]);
    await queue.renew("w1", ENDPOINT, 60_000);
    await queue.enqueue([newJob("waits", { idempotency: { key: "k", digest: "d" } })]);
    const other = newJob("other", { endpoint: "other", idempotency: { key: "k", digest: "d" } });
    await queue.enqueue([other]);

    await queue.removeEndpoint(ENDPOINT);
    for (const id of ["ended", "runs", "waits"]) expect(await queue.read(id, NOW)).toBeUndefined();
    expect(await queue.list({ endpoint: ENDPOINT, offset: 0, limit: 9, now: NOW })).toEqual({ jobs: [], total: 0 });
    expect(await queue.chunks("runs", { attempt: 0, sequence: 0 }, 9)).toEqual([]);
    expect(await queue.counts(ENDPOINT)).toEqual({ ...NOTHING });
    expect(await tellers(queue, END)).toEqual([]);
    expect(await outgoing(queue, END)).toEqual([]);
    expect(await queue.holders(ENDPOINT)).toEqual([]);
    expect(await queue.held("w1")).toEqual([]);
    expect(await queue.due(END, 9)).toEqual([]);
    expect(await claimIds(queue)).toEqual([]);
    expect(await queue.apply([finish("runs")])).toEqual([{ applied: false }]);
    expect((await queue.enqueue([newJob("new", { idempotency: { key: "k", digest: "d" } })]))[0]!.known).toBe(false);
    expect((await queue.enqueue([other]))[0]!.known).toBe(true);
    expect(await claimIds(queue, { endpoint: "other" })).toEqual(["other"]);
  });

  test("what workers send while their endpoint is removed leaves nothing", async () => {
    await using opened = await open();
    const { queue } = opened;
    const webhooks = ["https://example.org"];
    // Only a removal that is under way when a chunk arrives can miss it. The first one may be over too soon.
    for (let round = 0; round < 2; round++) {
      const ids = numbered(10, `runs-${round}-`);
      await queue.enqueue(numbered(3000, `other-${round}-`).map((id) => newJob(id)));
      await queue.enqueue(ids.map((id) => newJob(id, { webhooks, createdAt: NOW + 1 })));
      await claim(queue, { limit: 3010 });
      const sending = ids.map(async (id) => {
        for (let sequence = 1; sequence <= 20; sequence++)
          await queue.append("w1", [{ id, attempt: 1, sequence, text: "1" }]);
        await queue.apply([finish(id, { also: { webhook: true } })]);
      });
      await Promise.all([queue.removeEndpoint(ENDPOINT), ...sending]);
      for (const id of ids) expect(await queue.chunks(id, { attempt: 0, sequence: 0 }, 99)).toEqual([]);
      expect(await tellers(queue, END)).toEqual([]);
      expect(await queue.counts(ENDPOINT)).toEqual({ ...NOTHING });
    }
  });

  test.each(["purge", "removal"])("others write in the middle of a long %s", async (kind) => {
    await using opened = await open();
    const { queue } = opened;
    let isBetween = false;
    // On a busy machine, one write sometimes takes longer than the whole removal. The test then tries again.
    for (let round = 0; round < ROUNDS && !isBetween; round++) {
      await enqueue(queue, ...numbered(1500).map((id) => `${id}-${round}`));
      let isOver = false;
      const removing = kind === "purge" ? queue.purge(ENDPOINT, NOW) : queue.removeEndpoint(ENDPOINT);
      const over = removing.then(() => {
        isOver = true;
      });
      await queue.enqueue([newJob(`other-${round}`, { endpoint: "other" })]);
      isBetween = !isOver;
      await over;
    }
    expect(isBetween).toBe(true);
    expect(await claimIds(queue)).toEqual([]);
    expect(await queue.list({ endpoint: ENDPOINT, offset: 0, limit: 9, now: NOW })).toEqual({ jobs: [], total: 0 });
    expect(await claimIds(queue, { endpoint: "other" })).toContain("other-0");
  });

  test("removing an endpoint that has nothing is no error", async () => {
    await using opened = await open();
    await expect(opened.queue.removeEndpoint("nowhere")).resolves.toBeUndefined();
  });
}

const ROUNDS = 10;
const NOTHING = { inQueue: 0, lowPriorityInQueue: 0, inProgress: 0, completed: 0, failed: 0, retried: 0 };

function purgeCases(open: OpenQueue): void {
  test("a purge removes the jobs that wait, and only those", async () => {
    await using opened = await open();
    const { queue } = opened;
    await enqueue(queue, "ended", "runs", "back", "waits");
    await queue.enqueue([lowPriority("low"), newJob("other", { endpoint: "other" })]);
    await claim(queue, { limit: 3 });
    await apply(queue, finish("ended"), giveBack("back"));
    expect((await queue.purge(ENDPOINT, NOW)).toSorted()).toEqual(["back", "low", "waits"]);
    expect(await claimIds(queue)).toEqual([]);
    expect(await queue.apply([cancel("waits")])).toEqual([{ applied: false }]);
    expect((await reading(queue, "runs")).job.state).toBe("IN_PROGRESS");
    expect((await reading(queue, "ended")).job.state).toBe("COMPLETED");
    expect(await claimIds(queue, { endpoint: "other" })).toEqual(["other"]);
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0, lowPriorityInQueue: 0, inProgress: 1 });
    const due = await queue.due(NOW + policy.ttlMs, 9);
    expect(due.map(({ job }) => job.id).toSorted()).toEqual(["other", "runs"]);
    expect(await queue.purge(ENDPOINT, NOW)).toEqual([]);
  });

  test("a purged job is remembered as such for as long as its result would have been kept", async () => {
    await using opened = await open();
    const { queue } = opened;
    const short = NOW + 1000;
    await queue.enqueue([newJob("short", { policy: { ...policy, retentionMs: 1000 } }), newJob("long")]);
    await queue.purge(ENDPOINT, NOW);
    expect(await queue.read("short", short - 1, ["body"])).toBe("purged");
    expect(await queue.read("short", short)).toBeUndefined();
    await queue.expire(short, 10);
    expect(await queue.read("short", short - 1)).toBeUndefined();
    expect(await queue.read("long", END - 1)).toBe("purged");
    expect(await queue.read("long", END)).toBeUndefined();
  });

  test("a job is either purged or claimed, never both, when both are asked for at once", async () => {
    await using opened = await open();
    const ids = numbered(40);
    await enqueue(opened.queue, ...ids);
    const claims = Array.from({ length: 10 }, (_, i) => claimIds(opened.queue, { holder: `w${i}`, limit: 2 }));
    const [purged, ...claimed] = await Promise.all([opened.queue.purge(ENDPOINT, NOW), ...claims]);
    const later = await claimIds(opened.queue);
    expect([...purged!, ...claimed.flat(), ...later].toSorted()).toEqual(ids);
  });

  test("a purge during a change of a waiting job does not pass it over", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    const change = opened.queue.apply([{ id: "j1", when: { states: ["IN_QUEUE"] }, set: { reason: "x" } }]);
    const [, purged] = await Promise.all([change, opened.queue.purge(ENDPOINT, NOW)]);
    expect(purged).toEqual(["j1"]);
    expect(await claimIds(opened.queue)).toEqual([]);
  });

  test("a job enqueued after a purge waits", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    await opened.queue.purge(ENDPOINT, NOW);
    await enqueue(opened.queue, "j2");
    expect(await claimIds(opened.queue)).toEqual(["j2"]);
  });
}

function expiryCases(open: OpenQueue): void {
  test("results go when their time is over, in slices, with all that belongs to them", async () => {
    await using opened = await open();
    const { queue } = opened;
    const ids = numbered(10);
    await enqueue(queue, ...ids);
    await claim(queue, { limit: 10 });
    await queue.append("w1", [{ id: "j00", attempt: 1, sequence: 1, text: "1" }]);
    await apply(queue, ...ids.slice(0, 8).map((id) => finish(id)));
    await apply(queue, finish("j08", { set: { expiresAt: END + 1 } }));
    expect(await queue.expire(END - 1, 100)).toBe(0);
    expect([await queue.expire(END, 5), await queue.expire(END, 5), await queue.expire(END, 5)]).toEqual([5, 3, 0]);
    expect(await queue.read("j00", NOW)).toBeUndefined();
    expect(await queue.chunks("j00", { attempt: 0, sequence: 0 }, 9)).toEqual([]);
    expect((await queue.list({ endpoint: ENDPOINT, offset: 0, limit: 9, now: NOW })).jobs).toMatchObject([
      { id: "j09", state: "IN_PROGRESS" },
      { id: "j08", state: "COMPLETED" },
    ]);
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0, inProgress: 1 });
  });

  test("a result of whose end somebody must still be told stays, out of sight", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { webhooks: ["https://example.org"] }));
    await apply(opened.queue, finish("j1", { also: { webhook: true } }));
    expect(await opened.queue.expire(END, 9)).toBe(0);
    expect(await opened.queue.read("j1", END)).toBeUndefined();
    expect(await opened.queue.read("j1", END - 1)).toBeDefined();
    await opened.queue.settle("j1", "https://example.org", "done");
    expect(await opened.queue.expire(END, 9)).toBe(1);
    expect(await opened.queue.read("j1", END - 1)).toBeUndefined();
  });

  test("a job that was retried does not expire", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, fail("j1"), retry("j1"));
    expect(await opened.queue.expire(END, 9)).toBe(0);
    expect(await claimIds(opened.queue)).toEqual(["j1"]);
  });

  test("a result that is made after the clock was set back can be changed", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("old"));
    await apply(opened.queue, finish("old"));
    expect(await opened.queue.expire(END + 1000, 9)).toBe(1);
    await running(opened.queue, newJob("new"));
    await apply(opened.queue, fail("new"), retry("new"));
    expect(await claimIds(opened.queue)).toEqual(["new"]);
  });

  test("a retry and an expiry at once leave a whole job or none", async () => {
    await using opened = await open();
    const ids = numbered(20);
    for (const id of ids) {
      await running(opened.queue, newJob(id));
      await apply(opened.queue, fail(id));
    }
    const retries = ids.map((id) => opened.queue.apply([retry(id)]));
    const [expired, ...outcomes] = await Promise.all([opened.queue.expire(END, 5), ...retries]);
    const retried = ids.filter((_, i) => outcomes[i]![0]!.applied);
    expect(expired! + retried.length).toBe(ids.length);
    const claimed = await claim(opened.queue, { limit: 100 });
    expect(claimed.map(({ job }) => job.id)).toEqual(retried);
    for (const { job, body } of claimed) expect(body).toBe(newJob(job.id).body);
  });

  test("a retry and an expiry at once leave a whole job or none, also while its result's time is shortened", async () => {
    await using opened = await open();
    const { queue } = opened;
    const soon = NOW + 5;
    const ids = numbered(20);
    for (const id of ids) {
      await running(queue, newJob(id));
      await apply(queue, fail(id));
    }
    await running(queue, newJob("old"));
    await apply(queue, finish("old", { set: { expiresAt: soon } }));
    const shorten = (id: string) => ({
      id,
      when: { states: ["FAILED" as const] },
      set: {},
      lower: { expiresAt: soon },
    });
    const shortened = ids.map((id) => queue.apply([shorten(id)]));
    const expiry = queue.expire(soon, 99);
    const outcomes = await Promise.all(ids.map((id) => queue.apply([retry(id)])));
    await Promise.all([expiry, ...shortened]);
    const retried = ids.filter((_, i) => outcomes[i]![0]!.applied);
    const claimed = await claim(queue, { limit: 100 });
    expect(claimed.map(({ job }) => job.id).toSorted()).toEqual(retried);
    for (const { job, body } of claimed) expect(body).toBe(newJob(job.id).body);
  });
}
