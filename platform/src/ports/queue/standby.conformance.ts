/** What every Queue guarantees that begins jobs as they are inserted. */
import { describe, expect, test } from "vitest";
import {
  apply,
  claim,
  claimIds,
  ENDPOINT,
  enqueue,
  finish,
  giveBack,
  lowPriority,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  policy,
} from "./conformance-jobs.ts";
import type { NewJob } from "./job.ts";
import type { Claimed, Queue, StandbyAsk } from "./queue.ts";

/** Stands by, and collects the ids of the jobs that begin. */
function standBy(queue: Queue, ask: Partial<StandbyAsk> = {}) {
  const begun: Promise<Claimed[]>[] = [];
  const leave = queue.standBy!({
    ...{ endpoint: ENDPOINT, holder: "w1", limit: 1, now: () => NOW + 5, isOpen: () => true },
    begin: (jobs) => void begun.push(jobs),
    ...ask,
  });
  const claimed = async () => (await Promise.all(begun)).flat();
  return { leave, claimed, ids: async () => (await claimed()).map(({ job }) => job.id) };
}

const begunAmong = async (queue: Queue, jobs: NewJob[]) =>
  (await queue.enqueue(jobs)).filter(({ hasBegun }) => hasBegun).map(({ job }) => job.id);

export function standbyConformance(name: string, open: OpenQueue): void {
  describe.concurrent(`${name} begins jobs as they are inserted`, () => cases(open));
}

function cases(open: OpenQueue): void {
  test("a job that begins as it is inserted is as if it had been claimed then", async () => {
    await using opened = await open();
    const { queue } = opened;
    const waiting = standBy(queue);
    const [enqueued] = await queue.enqueue([newJob("j1")]);
    expect(enqueued).toMatchObject({ known: false, hasBegun: true, job: { id: "j1", state: "IN_QUEUE", attempt: 0 } });
    const [claimed] = await waiting.claimed();
    const { job, body } = claimed!;
    expect(job).toMatchObject({ state: "IN_PROGRESS", holder: "w1", attempt: 1, spent: 1, startedAt: NOW + 5 });
    expect(job).toMatchObject({ queuedAt: NOW, deadline: NOW + 5 + policy.executionTimeoutMs });
    expect(body).toBe(newJob("j1").body);
    expect(await queue.read("j1", NOW, ["body"])).toEqual({ job, body });
    expect(await queue.held("w1")).toEqual([job]);
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0, lowPriorityInQueue: 0, inProgress: 1 });
    expect(await claimIds(queue)).toEqual([]);
    await apply(queue, finish("j1"));
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0, inProgress: 0 });
  });

  test("it is given back, and lost, like one that was claimed", async () => {
    await using opened = await open();
    const { queue } = opened;
    await queue.renew("w1", ENDPOINT, 10_000);
    standBy(queue);
    await enqueue(queue, "j1");
    await opened.elapse(12_000);
    expect(await queue.due(NOW, 9)).toMatchObject([{ job: { id: "j1", attempt: 1 }, why: "holder" }]);
    await apply(queue, giveBack("j1"));
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 1, inProgress: 0 });
    const [again] = await claim(queue, { holder: "w2" });
    expect(again!.job).toMatchObject({ id: "j1", attempt: 2, holder: "w2" });
  });

  test("none begins while another job waits, so that none is passed by", async () => {
    await using opened = await open();
    const { queue } = opened;
    await enqueue(queue, "old");
    const waiting = standBy(queue, { limit: 9 });
    expect(await begunAmong(queue, [newJob("new")])).toEqual([]);
    expect(await waiting.ids()).toEqual([]);
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 2, inProgress: 0 });
    expect(await claimIds(queue)).toEqual(["old", "new"]);
  });

  test("an ask is for one time: for jobs that begin, and also if they wait instead", async () => {
    await using opened = await open();
    const { queue } = opened;
    const once = standBy(queue);
    expect(await begunAmong(queue, [newJob("j1")])).toEqual(["j1"]);
    expect(await begunAmong(queue, [newJob("j2")])).toEqual([]);
    const vain = standBy(queue);
    expect(await begunAmong(queue, [newJob("j3")])).toEqual([]);
    expect(await claimIds(queue)).toEqual(["j2", "j3"]);
    expect(await begunAmong(queue, [newJob("j4")])).toEqual([]);
    expect([await once.ids(), await vain.ids()]).toEqual([["j1"], []]);
  });

  test("nothing begins for one that has left or is not open", async () => {
    await using opened = await open();
    const { queue } = opened;
    standBy(queue, { holder: "left" }).leave();
    standBy(queue, { holder: "closed", isOpen: () => false });
    standBy(queue, { holder: "elsewhere", endpoint: "other" });
    const last = standBy(queue, { holder: "open" });
    await enqueue(queue, "j1");
    expect((await last.claimed()).map(({ job }) => job.holder)).toEqual(["open"]);
  });

  test("jobs go to those who stood by first, normal priority before low, and each holder gets its share", async () => {
    await using opened = await open();
    const { queue } = opened;
    const [first, second, third] = [2, 9, 9].map((limit, i) => standBy(queue, { holder: `w${i}`, limit }));
    const jobs = [lowPriority("low"), ...numbered(8).map((id) => newJob(id))];
    expect(await begunAmong(queue, jobs)).toEqual([...numbered(8)]);
    expect(await first!.ids()).toEqual(["j0", "j1"]);
    expect(await second!.ids()).toEqual(["j2", "j3", "j4"]);
    expect(await third!.ids()).toEqual(["j5", "j6", "j7"]);
    expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 1, lowPriorityInQueue: 1, inProgress: 8 });
    expect(await claimIds(queue)).toEqual(["low"]);
  });

  test("a job with a caller waits for its turn", async () => {
    await using opened = await open();
    const { queue } = opened;
    const waiting = standBy(queue, { limit: 9 });
    expect(await begunAmong(queue, [newJob("j1", { caller: "someone" })])).toEqual([]);
    expect(await waiting.ids()).toEqual([]);
  });

  test("bodies that are long together wait, in their order", async () => {
    await using opened = await open();
    const { queue } = opened;
    const waiting = standBy(queue, { limit: 9 });
    const body = `{"input":"${"x".repeat(25_000)}"}`;
    const jobs = [..."abc"].map((id) => newJob(id, { body }));
    expect(await begunAmong(queue, [...jobs, newJob("d")])).toEqual(["a", "b"]);
    expect(await waiting.ids()).toEqual(["a", "b"]);
    expect(await claimIds(queue)).toEqual(["c", "d"]);
  });

  test("many submissions at once begin once each, however many stand by on two nodes", async (context) => {
    await using opened = await open();
    if (typeof opened.another !== "function") return context.skip(opened.another.cannot);
    await using other = await opened.another();
    const nodes = [opened.queue, other];
    const waiting = nodes.flatMap((queue, n) =>
      numbered(10).map((id) => standBy(queue, { holder: `${n}-${id}`, limit: 2 })),
    );
    const ids = numbered(60);
    const enqueued = (await Promise.all(ids.map((id, i) => nodes[i % 2]!.enqueue([newJob(id)])))).flat();
    const begun = (await Promise.all(waiting.map((one) => one.ids()))).flat();
    expect(begun.sort()).toEqual(enqueued.filter(({ hasBegun }) => hasBegun).map(({ job }) => job.id));
    expect([...begun, ...(await claimIds(opened.queue, { holder: "w" }))].sort()).toEqual(ids);
  });
}
