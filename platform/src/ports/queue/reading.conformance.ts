/** What every Queue shows of its jobs. */
import { expect, test } from "vitest";
import {
  apply,
  claim,
  ENDPOINT,
  enqueue,
  finish,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  policy,
  reading,
  running,
} from "./conformance-jobs.ts";
import type { JobFilter, Queue } from "./queue.ts";

async function listed(queue: Queue, filter: Partial<JobFilter> = {}): Promise<{ ids: string[]; total: number }> {
  const { jobs, total } = await queue.list({ endpoint: ENDPOINT, offset: 0, limit: 100, now: NOW, ...filter });
  return { ids: jobs.map(({ id }) => id), total };
}

export function readingConformance(open: OpenQueue): void {
  test("a job that never was is unknown", async () => {
    await using opened = await open();
    expect(await opened.queue.read("nobody", NOW, ["body", "result", "progress"])).toBeUndefined();
  });

  test("only the parts asked for are read", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, finish("j1", { progress: "1" }));
    const parts = async (...asked: ("body" | "result" | "progress")[]) =>
      Object.keys((await opened.queue.read("j1", NOW, asked)) as object).toSorted();
    expect(await parts()).toEqual(["job"]);
    expect(await parts("result")).toEqual(["job", "result"]);
    expect(await parts("body", "progress")).toEqual(["body", "job", "progress"]);
  });

  test("a result is unknown from the moment it expires, removed or not", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    await apply(opened.queue, finish("j1"));
    const end = NOW + policy.retentionMs;
    expect((await reading(opened.queue, "j1", end - 1)).result).toBe('{"output":"of j1"}');
    expect(await opened.queue.read("j1", end)).toBeUndefined();
    expect((await listed(opened.queue, { now: end - 1 })).ids).toEqual(["j1"]);
    expect(await listed(opened.queue, { now: end })).toEqual({ ids: [], total: 0 });
  });

  test("a list counts no expired job, neither its own nor one of another endpoint", async () => {
    await using opened = await open();
    const { queue } = opened;
    await queue.enqueue([newJob("k", { endpoint: "other" })]);
    await running(queue, newJob("j1"));
    await apply(queue, finish("j1"));
    await enqueue(queue, "j2");
    const end = NOW + policy.retentionMs;
    expect(await listed(queue, { now: end })).toEqual({ ids: ["j2"], total: 1 });
    expect(await listed(queue, { now: end, endpoint: "other" })).toEqual({ ids: ["k"], total: 1 });
  });

  test("many jobs are found at once, in the order asked for, whatever has become of them", async () => {
    await using opened = await open();
    const { queue } = opened;
    await enqueue(queue, "a", "b", "c", "gone");
    await claim(queue, { limit: 2 });
    await apply(queue, finish("a"));
    const end = NOW + policy.retentionMs;
    const states = async (now: number) =>
      (await queue.find(["c", "nobody", "a", "b", "a"], now)).map((job) => job && `${job.id} ${job.state}`);
    expect(await states(end - 1)).toEqual(["c IN_QUEUE", undefined, "a COMPLETED", "b IN_PROGRESS", "a COMPLETED"]);
    expect(await states(end)).toEqual(["c IN_QUEUE", undefined, undefined, "b IN_PROGRESS", undefined]);
    expect(await queue.find(["a"], NOW)).toEqual([(await reading(queue, "a")).job]);
    expect(await queue.find([], NOW)).toEqual([]);
  });

  test("jobs are listed by age, the newest first, whatever their ids", async () => {
    await using opened = await open();
    const made = (id: string, after: number) => newJob(id, { createdAt: NOW + after });
    await opened.queue.enqueue([made("sync-a", 1), made("b", 2), made("sync-c", 3), made("d", 4), made("e", 4)]);
    expect(await listed(opened.queue)).toEqual({ ids: ["e", "d", "sync-c", "b", "sync-a"], total: 5 });
  });

  test("a list has pages, and the number of all", async () => {
    await using opened = await open();
    const ids = numbered(7);
    await enqueue(opened.queue, ...ids);
    expect(await listed(opened.queue, { offset: 2, limit: 3 })).toEqual({ ids: ["j4", "j3", "j2"], total: 7 });
    expect(await listed(opened.queue, { offset: 6, limit: 3 })).toEqual({ ids: ["j0"], total: 7 });
    expect(await listed(opened.queue, { offset: 7, limit: 3 })).toEqual({ ids: [], total: 7 });
    expect(await listed(opened.queue, { endpoint: "other" })).toEqual({ ids: [], total: 0 });
  });

  test("a list can be narrowed to states", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c");
    await claim(opened.queue, { limit: 2 });
    await apply(opened.queue, finish("a"));
    expect((await listed(opened.queue, { states: ["IN_QUEUE"] })).ids).toEqual(["c"]);
    expect(await listed(opened.queue, { states: ["IN_QUEUE", "COMPLETED"] })).toEqual({ ids: ["c", "a"], total: 2 });
    expect((await listed(opened.queue, { states: [] })).total).toBe(0);
  });

  test("a list can be narrowed to the jobs that one holder has or had", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c", "d");
    await claim(opened.queue, { holder: "ep/w1", limit: 2 });
    await claim(opened.queue, { holder: "ep/w2", limit: 1 });
    await apply(opened.queue, finish("a"));
    expect(await listed(opened.queue, { holder: "ep/w1" })).toEqual({ ids: ["b", "a"], total: 2 });
    expect(await listed(opened.queue, { holder: "ep/w1", states: ["IN_PROGRESS"] })).toEqual({ ids: ["b"], total: 1 });
    expect(await listed(opened.queue, { holder: "ep/w1", offset: 1, limit: 1 })).toEqual({ ids: ["a"], total: 2 });
    expect(await listed(opened.queue, { holder: "ep/w2" })).toEqual({ ids: ["c"], total: 1 });
    expect(await listed(opened.queue, { holder: "nobody" })).toEqual({ ids: [], total: 0 });
  });

  test("a listed job is the whole job", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { webhooks: ["https://example.org"], sealed: true }));
    await apply(opened.queue, finish("j1", { set: { reason: "why" } }));
    const { jobs } = await opened.queue.list({ endpoint: ENDPOINT, offset: 0, limit: 1, now: NOW });
    expect(jobs).toEqual([(await reading(opened.queue, "j1")).job]);
  });
}
