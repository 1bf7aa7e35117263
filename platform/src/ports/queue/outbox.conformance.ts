/** What every Queue counts, and which messages it keeps to be sent. */
import { randomBytes } from "node:crypto";
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
  outgoing,
  retry,
  running,
  tellers,
} from "./conformance-jobs.ts";
import type { NewJob } from "./job.ts";
import type { Queue, Teller } from "./queue.ts";

const ONE = "https://one.example.org";
const TWO = "https://two.example.org";

const NOBODYS: Teller = { endpoint: ENDPOINT, caller: "" };

/** Makes ended jobs, each with a message. */
async function told(
  queue: Queue,
  ids: string[],
  webhook: (id: string) => string,
  { endpoint = ENDPOINT, caller }: Partial<Pick<NewJob, "endpoint" | "caller">> = {},
): Promise<void> {
  const whose = caller === undefined ? { endpoint } : { endpoint, caller };
  await queue.enqueue(ids.map((id) => newJob(id, { ...whose, webhooks: [webhook(id)] })));
  await claim(queue, { endpoint, limit: ids.length });
  await queue.apply(ids.map((id) => finish(id, { also: { webhook: true }, set: { endedAt: NOW } })));
}

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
    expect(await outgoing(opened.queue, NOW)).toEqual([]);
    const told = finish("j1", { also: { webhook: true }, set: { endedAt: NOW + 5 } });
    expect((await opened.queue.apply([told, told, { ...told, id: "silent" }])).map(({ applied }) => applied)).toEqual([
      true,
      false,
      false,
    ]);
    expect(await outgoing(opened.queue, NOW + 4)).toEqual([]);
    expect(await outgoing(opened.queue, NOW + 5)).toEqual(
      [ONE, TWO].map((url) => ({ job: "j1", ...NOBODYS, url, target: url, tries: 0, dueAt: NOW + 5 })),
    );
  });

  test("of a target that message comes which is due first, until it is settled", async () => {
    await using opened = await open();
    const { queue } = opened;
    for (const [id, after] of [
      ["a", 3],
      ["b", 1],
      ["c", 2],
    ] as const) {
      await running(queue, newJob(id, { webhooks: [`${ONE}/${id}`] }));
      await apply(queue, finish(id, { also: { webhook: true }, set: { endedAt: NOW + after } }));
    }
    const due = async (now: number) => (await outgoing(queue, now)).map(({ job }) => job);
    expect([await due(NOW), await tellers(queue, NOW)]).toEqual([[], []]);
    expect([await due(NOW + 3), await tellers(queue, NOW + 1)]).toEqual([["b"], [ENDPOINT]]);
    await queue.settle("b", `${ONE}/b`, { tries: 1, dueAt: NOW + 100 });
    expect(await due(NOW + 3)).toEqual(["c"]);
    await queue.settle("c", `${ONE}/c`, "done");
    await queue.settle("c", `${ONE}/c`, { tries: 9, dueAt: NOW });
    await queue.settle("nobody", ONE, "done");
    expect(await due(NOW + 99)).toEqual(["a"]);
    await queue.settle("a", `${ONE}/a`, "done");
    expect(await tellers(queue, NOW + 99)).toEqual([]);
    expect(await outgoing(queue, NOW + 100)).toMatchObject([{ job: "b", tries: 1, dueAt: NOW + 100 }]);
  });

  test("however much an endpoint has to tell, and a target has to be told, it hides no other", async () => {
    await using opened = await open();
    const { queue } = opened;
    await told(queue, numbered(300, "many"), (id) => `${ONE}/${id}`);
    await told(queue, ["one"], () => `${TWO}:8080/path?query`);
    await told(queue, ["other"], () => ONE, { endpoint: "other" });
    expect(await tellers(queue, NOW)).toEqual([ENDPOINT, "other"]);
    const first = await outgoing(queue, NOW);
    expect(first.map(({ target }) => target)).toEqual([ONE, `${TWO}:8080`]);
    expect(await outgoing(queue, NOW, { except: [ONE] })).toMatchObject([{ job: "one" }]);
    expect(await outgoing(queue, NOW, { after: ONE })).toMatchObject([{ job: "one" }]);
    expect(await outgoing(queue, NOW, { endpoint: "other" })).toMatchObject([{ job: "other" }]);
  });

  test("however much one caller of an endpoint has to tell, it hides no other caller, not even at the same target", async () => {
    await using opened = await open();
    const { queue } = opened;
    await told(queue, numbered(300, "many"), (id) => `${ONE}/${id}`, { caller: "hostile" });
    await told(queue, ["quick"], () => `${ONE}/quick`, { caller: "quick" });
    await told(queue, ["own"], () => `${ONE}/own`);
    expect(await tellers(queue, NOW)).toEqual([ENDPOINT, `${ENDPOINT} hostile`, `${ENDPOINT} quick`]);
    const first = async (caller: string) => (await outgoing(queue, NOW, { caller })).map(({ job }) => job);
    expect([await first("quick"), await first(""), await first("nobody")]).toEqual([["quick"], ["own"], []]);
    expect(await outgoing(queue, NOW, { caller: "hostile" })).toMatchObject([{ target: ONE, caller: "hostile" }]);
    await queue.settle("quick", `${ONE}/quick`, "done");
    await queue.settle("own", `${ONE}/own`, { tries: 1, dueAt: NOW + 1 });
    expect(await tellers(queue, NOW)).toEqual([`${ENDPOINT} hostile`]);
  });

  test("callers are read in pages, those with nothing due passed over, and none is read twice", async () => {
    await using opened = await open();
    const { queue } = opened;
    for (const endpoint of ["a", "b"])
      for (const caller of numbered(7, "c"))
        await told(queue, [`${endpoint}${caller}`], () => ONE, { endpoint, caller });
    for (const job of ["ac1", "ac2", "ac3", "bc6"]) await queue.settle(job, ONE, { tries: 1, dueAt: NOW + 1 });
    const pages: string[][] = [];
    let after: Teller | undefined;
    do {
      const page = await queue.tellers({ now: NOW, limit: 3, after });
      pages.push(page.tellers.map(({ endpoint, caller }) => endpoint + caller));
      after = page.next;
    } while (after !== undefined && pages.length < 9);
    expect(pages).toEqual([["ac0"], ["ac4", "ac5"], ["ac6", "bc0", "bc1"], ["bc2", "bc3", "bc4"], ["bc5"]]);
  });

  test("many targets are read in pages, those that are not due passed over", async () => {
    await using opened = await open();
    const { queue } = opened;
    const ids = numbered(250);
    await told(queue, ids, (id) => `https://${id}.example.org/${id}`);
    const targets = ids.map((id) => `https://${id}.example.org`);
    for (const n of [0, 100, 249]) await queue.settle(ids[n]!, `${targets[n]}/${ids[n]}`, { tries: 1, dueAt: NOW + 1 });
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await queue.outgoing({ ...NOBODYS, now: NOW, limit: 60, after, except: [targets[1]!] });
      expect(page.messages.length).toBeLessThanOrEqual(60);
      seen.push(...page.messages.map(({ job }) => job));
      after = page.next;
    } while (after !== undefined);
    expect(seen).toEqual(ids.filter((_, n) => ![0, 1, 100, 249].includes(n)));
  });

  test("a URL of 2,000 bytes that nothing can shorten is a target as any other", async () => {
    await using opened = await open();
    const url = `https://${randomBytes(992).toString("hex").toUpperCase()}.EXAMPLE`;
    await told(opened.queue, ["j1"], () => url);
    const [message] = await outgoing(opened.queue, NOW);
    expect([message?.url, message?.target]).toEqual([url, url.slice(0, 200).toLowerCase()]);
    expect(await outgoing(opened.queue, NOW, { except: [message!.target] })).toEqual([]);
  });

  test("a job that ends again tells its targets again", async () => {
    await using opened = await open();
    await running(opened.queue, newJob("j1", { webhooks: [ONE] }));
    await apply(opened.queue, fail("j1", { also: { webhook: true } }));
    await opened.queue.settle("j1", ONE, { tries: 3, dueAt: NOW + 100 });
    await apply(opened.queue, retry("j1"));
    await claim(opened.queue);
    await apply(opened.queue, finish("j1", { also: { webhook: true }, set: { endedAt: NOW + 7 } }));
    const again = { tries: 0, dueAt: NOW + 7 };
    expect(await outgoing(opened.queue, NOW + 7)).toMatchObject([{ job: "j1", url: ONE, ...again }]);
    // The one who sends the first message has not heard of the second.
    const seen = { tries: 3, dueAt: NOW + 100 };
    await opened.queue.settle("j1", ONE, "done", seen);
    await opened.queue.settle("j1", ONE, { tries: 4, dueAt: NOW + 200 }, seen);
    expect(await outgoing(opened.queue, NOW + 7)).toMatchObject([{ job: "j1", url: ONE, ...again }]);
    await opened.queue.settle("j1", ONE, "done", again);
    expect(await outgoing(opened.queue, NOW + 300)).toEqual([]);
  });
}
