/** What every Queue counts, and whom it must tell. */
import { expect, test } from "vitest";
import {
  apply,
  cancel,
  claim,
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
  retry,
  running,
} from "./conformance-jobs.ts";

const ONE = "https://one.example.org";
const TWO = "https://two.example.org";

export function outboxConformance(open: OpenQueue): void {
  test("waiting and running jobs are counted through every change", async () => {
    await using opened = await open();
    const { queue } = opened;
    const now = async () => {
      const { inQueue, lowPriorityInQueue, inProgress } = await queue.counts(ENDPOINT);
      return [inQueue, lowPriorityInQueue, inProgress];
    };
    expect(await now()).toEqual([0, 0, 0]);
    await queue.enqueue([newJob("a"), newJob("b"), lowPriority("low"), newJob("x", { endpoint: "other" })]);
    expect(await now()).toEqual([3, 1, 0]);
    await claim(queue, { limit: 3 });
    expect(await now()).toEqual([0, 0, 3]);
    await apply(queue, giveBack("low"), finish("a"), fail("b"));
    expect(await now()).toEqual([1, 1, 0]);
    await queue.apply([finish("a"), cancel("nobody")]);
    await apply(queue, retry("b"), cancel("low"));
    expect(await now()).toEqual([1, 0, 0]);
    await queue.purge(ENDPOINT, NOW);
    expect(await now()).toEqual([0, 0, 0]);
    expect((await queue.counts("other")).inQueue).toBe(1);
  });

  test("ends are counted by the change that makes them, and by no refused one", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b", "c");
    await claim(opened.queue, { limit: 3 });
    await opened.queue.apply([
      finish("a", { also: { count: { completed: 1 } } }),
      finish("a", { also: { count: { completed: 1 } } }),
      fail("b", { also: { count: { failed: 1, retried: 2 } } }),
      fail("nobody", { also: { count: { failed: 1 } } }),
    ]);
    await apply(opened.queue, finish("c", { also: { count: { completed: 1 } } }));
    expect(await opened.queue.counts(ENDPOINT)).toMatchObject({ completed: 2, failed: 1, retried: 2, inProgress: 0 });
    expect(await opened.queue.counts("other")).toMatchObject({ completed: 0, failed: 0, retried: 0 });
  });

  test("many who count at once lose none", async () => {
    await using opened = await open();
    const ids = numbered(60);
    await enqueue(opened.queue, ...ids);
    await claim(opened.queue, { limit: 60 });
    await Promise.all(ids.map((id) => opened.queue.apply([finish(id, { also: { count: { completed: 1 } } })])));
    expect(await opened.queue.counts(ENDPOINT)).toMatchObject({ completed: 60, inProgress: 0 });
  });

  test("an end's messages are written with it, one for each target, and by no refused change", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { webhooks: [ONE, TWO] }));
    await running(opened.queue, newJob("silent", { webhooks: [ONE] }));
    await apply(opened.queue, finish("silent"));
    expect(await opened.queue.outgoing(NOW, 9)).toEqual([]);
    const told = finish("j1", { also: { webhook: true }, set: { endedAt: NOW + 5 } });
    expect((await opened.queue.apply([told, told, { ...told, id: "silent" }])).map(({ applied }) => applied)).toEqual([
      true,
      false,
      false,
    ]);
    expect(await opened.queue.outgoing(NOW + 4, 9)).toEqual([]);
    const messages = await opened.queue.outgoing(NOW + 5, 9);
    expect(messages.toSorted((a, b) => (a.url < b.url ? -1 : 1))).toEqual(
      [ONE, TWO].map((url) => ({ job: "j1", endpoint: ENDPOINT, url, tries: 0, dueAt: NOW + 5 })),
    );
  });

  test("messages come in the order in which they are due, up to a limit, until they are settled", async () => {
    await using opened = await open();
    const { queue } = opened;
    for (const [id, after] of [
      ["a", 3],
      ["b", 1],
      ["c", 2],
    ] as const) {
      await running(queue, newJob(id, { webhooks: [ONE] }));
      await apply(queue, finish(id, { also: { webhook: true }, set: { endedAt: NOW + after } }));
    }
    const due = async (now: number, limit = 9) => (await queue.outgoing(now, limit)).map(({ job }) => job);
    expect(await due(NOW + 3)).toEqual(["b", "c", "a"]);
    expect(await due(NOW + 2)).toEqual(["b", "c"]);
    expect(await due(NOW + 3, 1)).toEqual(["b"]);
    await queue.settle("b", ONE, { tries: 1, dueAt: NOW + 100 });
    await queue.settle("c", ONE, "done");
    await queue.settle("c", ONE, { tries: 9, dueAt: NOW });
    await queue.settle("nobody", ONE, "done");
    expect(await due(NOW + 99)).toEqual(["a"]);
    expect(await queue.outgoing(NOW + 100, 9)).toMatchObject([{ job: "a" }, { job: "b", tries: 1, dueAt: NOW + 100 }]);
  });

  test("a job that ends again tells its targets again", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { webhooks: [ONE] }));
    await apply(opened.queue, fail("j1", { also: { webhook: true } }));
    await opened.queue.settle("j1", ONE, { tries: 3, dueAt: NOW + 100 });
    await apply(opened.queue, retry("j1"));
    await claim(opened.queue);
    await apply(opened.queue, finish("j1", { also: { webhook: true }, set: { endedAt: NOW + 7 } }));
    expect(await opened.queue.outgoing(NOW + 7, 9)).toMatchObject([{ job: "j1", url: ONE, tries: 0, dueAt: NOW + 7 }]);
  });
}
