/** What every Queue reports about the work that waits for workers. */
import { expect, test } from "vitest";
import {
  apply,
  cancel,
  claim,
  ENDPOINT,
  enqueue,
  finish,
  giveBack,
  lowPriority,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
  running,
} from "./conformance-jobs.ts";
import type { Demand, Queue } from "./queue.ts";

const waitingAt = (id: string, createdAt: number) => newJob(id, { createdAt });

async function demandOf(queue: Queue, most = 10, endpoint = ENDPOINT): Promise<Demand | undefined> {
  return (await queue.demand(most)).find((demand) => demand.endpoint === endpoint);
}

export function demandConformance(open: OpenQueue): void {
  test("an endpoint without jobs asks for nothing", async () => {
    await using opened = await open();
    expect(await opened.queue.demand(10)).toEqual([]);
  });

  test("waiting jobs tell since when they wait, the longest wait first", async () => {
    await using opened = await open();
    await opened.queue.enqueue([waitingAt("a", NOW + 1), waitingAt("b", NOW + 5), waitingAt("c", NOW + 9)]);
    expect(await opened.queue.demand(10)).toEqual([
      {
        ...{ endpoint: ENDPOINT, inQueue: 3, lowPriorityInQueue: 0, inProgress: 0 },
        waitingSince: [NOW + 1, NOW + 5, NOW + 9],
      },
    ]);
  });

  test("every endpoint asks for itself", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b");
    await opened.queue.enqueue([newJob("k", { endpoint: "other" })]);
    const asked = await opened.queue.demand(10);
    expect(Object.fromEntries(asked.map(({ endpoint, inQueue }) => [endpoint, inQueue]))).toEqual({ ep: 2, other: 1 });
  });

  test("only as many as asked for are told of, the next in line, and all are counted", async () => {
    await using opened = await open();
    await opened.queue.enqueue(numbered(50).map((id, i) => waitingAt(id, NOW + i)));
    expect(await demandOf(opened.queue, 3)).toMatchObject({ inQueue: 50, waitingSince: [NOW, NOW + 1, NOW + 2] });
    expect((await demandOf(opened.queue, 0))!.waitingSince).toEqual([]);
  });

  test("jobs of low priority are counted and not told of", async () => {
    await using opened = await open();
    await opened.queue.enqueue([lowPriority("low"), waitingAt("a", NOW + 1)]);
    expect(await demandOf(opened.queue)).toMatchObject({
      ...{ inQueue: 2, lowPriorityInQueue: 1, waitingSince: [NOW + 1] },
    });
  });

  test("running jobs wait no longer, and ended ones ask for nothing", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1"));
    expect(await demandOf(opened.queue)).toMatchObject({ inQueue: 0, inProgress: 1, waitingSince: [] });
    await apply(opened.queue, finish("j1"));
    expect(await opened.queue.demand(10)).toEqual([]);
  });

  test("cancelled jobs are passed over, wherever they stood in the line", async () => {
    await using opened = await open();
    await opened.queue.enqueue(numbered(5).map((id, i) => waitingAt(id, NOW + i)));
    await apply(opened.queue, cancel("j0"), cancel("j2"), cancel("j4"));
    expect((await demandOf(opened.queue))!.waitingSince).toEqual([NOW + 1, NOW + 3]);
    expect((await claim(opened.queue, { limit: 9 })).map(({ job }) => job.id)).toEqual(["j1", "j3"]);
  });

  test("purged jobs ask for nothing", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a", "b");
    await opened.queue.purge(ENDPOINT, NOW);
    expect(await opened.queue.demand(10)).toEqual([]);
  });

  test("a job that came back waits from then on, and the longest wait is still named first", async () => {
    await using opened = await open();
    await opened.queue.enqueue([waitingAt("a", NOW), waitingAt("b", NOW + 1)]);
    await claim(opened.queue);
    await apply(opened.queue, giveBack("a", { set: { queuedAt: NOW + 60_000 } }));
    expect((await demandOf(opened.queue))!.waitingSince).toEqual([NOW + 1, NOW + 60_000]);
  });

  test("a removed endpoint asks for nothing", async () => {
    await using opened = await open();
    await enqueue(opened.queue, "a");
    await opened.queue.removeEndpoint(ENDPOINT);
    expect(await opened.queue.demand(10)).toEqual([]);
  });
}
