/** What every Queue guarantees when workers ask for jobs. */

import { expect, test } from "vitest";
import {
  apply,
  cancel,
  claim,
  claimIds,
  ENDPOINT,
  enqueue,
  fail,
  giveBack,
  lowPriority,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  policy,
  retry,
  running,
} from "./conformance-jobs.ts";
import { jobLifecycle } from "./job.ts";

const bodyOf = (length: number) => `{"input":"${"x".repeat(length - 12)}"}`;

export function claimConformance(open: OpenQueue): void {
  test("an empty queue gives nothing", async () => {
    await using opened = await open();
    expect(await claim(opened.queue)).toEqual([]);
  });

  test("jobs are handed out in the order in which they came, as many as were asked for", async () => {
    await using opened = await open();
    for (const ids of [["c", "a"], ["b"], ["e", "d"]]) await enqueue(opened.queue, ...ids);
    expect(await claimIds(opened.queue, { limit: 2 })).toEqual(["c", "a"]);
    expect(await claimIds(opened.queue, { limit: 0 })).toEqual([]);
    expect(await claimIds(opened.queue, { limit: 9 })).toEqual(["b", "e", "d"]);
  });

  test("low priority comes after all others", async () => {
    await using opened = await open();
    await opened.queue.enqueue([lowPriority("low1"), newJob("n1"), lowPriority("low2"), newJob("n2")]);
    expect(await claimIds(opened.queue)).toEqual(["n1", "n2", "low1", "low2"]);
  });

  test("a returned job comes before those that wait, within its priority", async () => {
    await using opened = await open();
    await opened.queue.enqueue([newJob("n1"), lowPriority("low1"), newJob("n2"), lowPriority("low2")]);
    expect(await claimIds(opened.queue, { limit: 3 })).toEqual(["n1", "n2", "low1"]);
    await enqueue(opened.queue, "n3");
    await apply(opened.queue, giveBack("low1"));
    await apply(opened.queue, giveBack("n2"));
    expect(await claimIds(opened.queue)).toEqual(["n2", "n3", "low1", "low2"]);
  });

  test("of several returned jobs, the one returned last comes first", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c", "d");
    await claim(opened.queue, { limit: 3 });
    await apply(opened.queue, giveBack("c"));
    await apply(opened.queue, giveBack("a"), giveBack("b"));
    expect(await claimIds(opened.queue)).toEqual(["b", "a", "c", "d"]);
  });

  test("a job returned to the back comes after those that wait", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b");
    await claim(opened.queue);
    await apply(opened.queue, giveBack("a", { place: "back" }));
    await enqueue(opened.queue, "c");
    expect(await claimIds(opened.queue)).toEqual(["b", "a", "c"]);
  });

  test("a job that ended while it waited and was retried takes its new place, not its old one", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b");
    const timeOut = cancel("a", { set: { state: jobLifecycle.to("timeOut") } });
    await apply(opened.queue, timeOut, retry("a", { place: "back" }));
    expect(await claimIds(opened.queue)).toEqual(["b", "a"]);
  });

  test("a change to a waiting job leaves it in its place", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c");
    const change = {
      when: { states: ["IN_QUEUE" as const] },
      set: { state: jobLifecycle.begin("IN_QUEUE"), queuedAt: NOW + 1 },
    };
    await apply(opened.queue, { id: "a", ...change }, { id: "b", ...change, place: "back" });
    expect(await claimIds(opened.queue)).toEqual(["a", "b", "c"]);
  });

  test("a claim begins an attempt: holder, times, and nobody barred any more", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, fail("j1"), retry("j1", { set: { barred: "w1" } }));
    const [claimed] = await claim(opened.queue, { holder: "w2", now: NOW + 5 });
    const { job } = claimed!;
    expect(job).toMatchObject({ state: "IN_PROGRESS", holder: "w2", attempt: 2, spent: 1, startedAt: NOW + 5 });
    expect(job.deadline).toBe(NOW + 5 + policy.executionTimeoutMs);
    expect(job).not.toHaveProperty("barred");
    expect(claimed!.body).toBe(newJob("j1").body);
    expect(await opened.queue.read("j1", NOW)).toEqual({ job });
  });

  test("jobs that the asker must not get stay in their place for others", async () => {
    await using opened = await open();
    await opened.queue.enqueue([newJob("a"), newJob("b"), newJob("c"), lowPriority("d")]);
    expect(await claimIds(opened.queue, { limit: 1, except: ["a", "b"] })).toEqual(["c"]);
    expect(await claimIds(opened.queue, { except: ["a", "b", "d"] })).toEqual([]);
    expect(await claimIds(opened.queue)).toEqual(["a", "b", "d"]);
  });

  test("those who ask at the same time get the jobs in order, whatever they are at", async () => {
    await using opened = await open();
    const at = numbered(3, "at");
    for (const id of at) await running(opened.queue, newJob(id));
    await enqueue(opened.queue, ...numbered(5));
    const told: string[] = [];
    const asks = at.map((id) =>
      claimIds(opened.queue, { holder: `of ${id}`, limit: 2, except: [id, "gone"], drained: () => told.push(id) }),
    );
    expect(await Promise.all(asks)).toEqual([["j0", "j1"], ["j2", "j3"], ["j4"]]);
    if (told.length > 0) expect(told).toEqual(at);
    expect(await claimIds(opened.queue, { except: at })).toEqual([]);
  });

  test("a job that one asker must not get is for another that asks at the same time", async () => {
    await using opened = await open();
    await enqueue(opened.queue, ...numbered(2));
    const asks = [{ except: ["j0"] }, { except: ["j1"] }].map((ask, i) =>
      claimIds(opened.queue, { holder: `w${i}`, limit: 1, ...ask }),
    );
    expect(await Promise.all(asks)).toEqual([["j1"], ["j0"]]);
    const told: string[] = [];
    await enqueue(opened.queue, "j3");
    expect(await claimIds(opened.queue, { except: ["j3"], drained: () => told.push("left") })).toEqual([]);
    expect(told).toEqual([]);
    expect(await claimIds(opened.queue)).toEqual(["j3"]);
  });

  /** Adapters may keep bodies of these lengths inline, apart, or in files. */
  const lengths = [1000, 50_000, 300_000, 1_500_000];

  test.for(lengths)("bodies of %i bytes: one at least, then as many as fit", async (length) => {
    await using opened = await open();
    const ids = numbered(7);
    for (const id of ids) await opened.queue.enqueue([newJob(id, { body: bodyOf(length) })]);
    expect(await claimIds(opened.queue, { bytes: length * 3 - 1 })).toEqual(ids.slice(0, 2));
    expect(await claimIds(opened.queue, { bytes: length - 1 })).toEqual(ids.slice(2, 3));
    expect(await claimIds(opened.queue, { bytes: length * 3, except: [ids[3]!] })).toEqual(ids.slice(4));
    const [last] = await claim(opened.queue, { bytes: 0 });
    expect(last!.job.id).toBe(ids[3]);
    expect(Buffer.byteLength(last!.body!)).toBe(length);
  });

  test("what did not fit waits as if nobody had asked for it", async () => {
    await using opened = await open();
    const long = bodyOf(100_000);
    await opened.queue.enqueue([newJob("short"), newJob("long", { body: long }), lowPriority("low"), newJob("last")]);
    expect(await claimIds(opened.queue, { bytes: 50_000 })).toEqual(["short"]);
    expect(await opened.queue.read("long", NOW)).toMatchObject({ job: { state: "IN_QUEUE", attempt: 0, spent: 0 } });
    expect(await opened.queue.counts(ENDPOINT)).toMatchObject({ inQueue: 3, inProgress: 1 });
    expect(await claimIds(opened.queue)).toEqual(["long", "last", "low"]);
  });

  test("what is too long for one who asks is for others who ask at the same time", async () => {
    await using opened = await open();
    await opened.queue.enqueue(numbered(6).map((id) => newJob(id, { body: bodyOf(100_000) })));
    const asks = ["w1", "w2", "w3"].map((holder) => claimIds(opened.queue, { holder, limit: 9, bytes: 200_000 }));
    expect((await Promise.all(asks)).toSorted()).toEqual([
      ["j0", "j1"],
      ["j2", "j3"],
      ["j4", "j5"],
    ]);
  });

  test("a job is claimed by one holder, however many ask at once", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "j1");
    const asks = Array.from({ length: 50 }, (_, i) => claim(opened.queue, { holder: `w${i}` }));
    expect((await Promise.all(asks)).flat()).toHaveLength(1);
  });

  test("50 who ask at once share the jobs: each is held once, in order, and known to its holder", async () => {
    await using opened = await open();
    const ids = numbered(120);
    await enqueue(opened.queue, ...ids);
    const limits = Array.from({ length: 50 }, (_, i) => 1 + (i % 4));
    const asks = limits.map((limit, i) =>
      claim(opened.queue, { holder: `w${i}`, limit, ...(i % 5 === 0 ? { except: [ids[i]!] } : {}) }),
    );
    const answers = await Promise.all(asks);
    const claimed = answers.flat().map(({ job }) => job.id);
    expect(claimed.toSorted()).toEqual(ids.slice(0, claimed.length));
    for (const [i, answer] of answers.entries()) {
      const given = answer.map(({ job }) => job.id);
      expect(given.length).toBeLessThanOrEqual(limits[i]!);
      expect(given).toEqual(given.toSorted());
      expect(answer.every(({ job, body }) => job.holder === `w${i}` && body === newJob(job.id).body)).toBe(true);
      expect((await opened.queue.held(`w${i}`)).map(({ id }) => id).toSorted()).toEqual(given);
    }
  });

  test("two nodes on one database never hold the same job", async (context) => {
    await using opened = await open();
    if (typeof opened.another !== "function") return context.skip(opened.another.cannot);
    await using other = await opened.another();
    const ids = numbered(200);
    await enqueue(opened.queue, ...ids);
    const asks = Array.from({ length: 60 }, (_, i) =>
      claimIds(i % 2 ? opened.queue : other, { holder: `w${i}`, limit: 3 }),
    );
    const claimed = (await Promise.all(asks)).flat();
    const rest = await claimIds(other);
    expect([...claimed, ...rest].toSorted()).toEqual(ids);
  });

  test("nobody is told that a claim left nothing behind if it left something", async () => {
    await using opened = await open();
    let isDrained = false;
    const drained = () => {
      isDrained = true;
    };
    const body = bodyOf(1000);
    await opened.queue.enqueue(numbered(6).map((id) => newJob(id, { body })));
    await claim(opened.queue, { limit: 2, drained });
    await claim(opened.queue, { bytes: 1500, drained });
    await claim(opened.queue, { except: numbered(6).slice(3), drained });
    await Promise.all([claim(opened.queue, { limit: 1, drained }), claim(opened.queue, { limit: 1, drained })]);
    expect(isDrained).toBe(false);
    expect(await claim(opened.queue, { drained })).toHaveLength(1);
  });

  test("100,000 waiting jobs keep their order", async () => {
    await using opened = await open();
    const ids = numbered(100_000);
    for (let at = 0; at < ids.length; at += 10_000) await enqueue(opened.queue, ...ids.slice(at, at + 10_000));
    const claimed: string[] = [];
    for (const limit of [1, 9, 990, 9_000]) claimed.push(...(await claimIds(opened.queue, { limit })));
    expect(claimed).toHaveLength(10_000);
    expect(claimed.findIndex((id, i) => id !== ids[i])).toBe(-1);
  }, 60_000);
}
