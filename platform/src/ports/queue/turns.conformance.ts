/** What every Queue guarantees about the callers of a shared endpoint: turns, counts, lists and charges. */
import { describe, expect, test } from "vitest";
import {
  apply,
  claim,
  claimIds,
  ENDPOINT,
  enqueue,
  finish,
  giveBack,
  NOW,
  newJob,
  numbered,
  type OpenQueue,
} from "./conformance-jobs.ts";
import type { Charge, Fare, NewJob } from "./job.ts";
import type { Queue } from "./queue.ts";

const HOUR = 3_600_000;
const FARE: Fare = { share: "model", perRequest: 5, perSecond: 7, perMillionInputTokens: 1, perMillionOutputTokens: 2 };
const CHARGE: Charge = {
  hour: NOW - (NOW % HOUR),
  requests: 1,
  executionMs: 20,
  inputTokens: 3,
  outputTokens: 4,
  amount: 9,
};

const of = (caller: string, id: string, options: Partial<NewJob> = {}) =>
  newJob(id, { caller, ...options } as Parameters<typeof newJob>[1]);
const low = (caller: string, id: string) => newJob(id, { caller, policy: { lowPriority: true } });

async function claimOneByOne(queue: Queue, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push(...(await claimIds(queue, { limit: 1, inTurns: true })));
  return ids;
}

export function turnsConformance(open: OpenQueue): void {
  describe("turns", () => {
    test.each(["together", "one by one"])("each caller has one job, then each the next: claimed %s", async (how) => {
      await using opened = await open();
      await opened.queue.enqueue(numbered(5, "a").map((id) => of("a", id)));
      await opened.queue.enqueue([of("b", "b0"), of("b", "b1"), of("c", "c0")]);
      const ids =
        how === "together"
          ? await claimIds(opened.queue, { limit: 8, inTurns: true })
          : await claimOneByOne(opened.queue, 8);
      expect([...ids.slice(0, 3)].sort()).toEqual(["a0", "b0", "c0"]);
      expect([...ids.slice(3, 5)].sort()).toEqual(["a1", "b1"]);
      expect(ids.slice(5)).toEqual(["a2", "a3", "a4"]);
    });

    test("a caller who comes late waits for one job of each other, not for all of theirs", async () => {
      await using opened = await open();
      await opened.queue.enqueue(numbered(50, "a").map((id) => of("a", id)));
      await opened.queue.enqueue(numbered(50, "b").map((id) => of("b", id)));
      await claimOneByOne(opened.queue, 21);
      await opened.queue.enqueue([of("late", "late")]);
      expect(await claimOneByOne(opened.queue, 3)).toContain("late");
    });

    test("a caller who was away does not catch up on turns", async () => {
      await using opened = await open();
      await opened.queue.enqueue(numbered(20, "a").map((id) => of("a", id)));
      await claimOneByOne(opened.queue, 10);
      await opened.queue.enqueue(numbered(10, "b").map((id) => of("b", id)));
      const ids = await claimOneByOne(opened.queue, 8);
      expect(ids.filter((id) => id.startsWith("b"))).toHaveLength(4);
    });

    test("low priority of all comes after the others of all", async () => {
      await using opened = await open();
      await opened.queue.enqueue([low("b", "low"), of("a", "a0"), of("a", "a1"), of("b", "b0")]);
      const ids = await claimIds(opened.queue, { inTurns: true });
      expect(ids[3]).toBe("low");
    });

    test("jobs without a caller come first, since they are older than the sharing", async () => {
      await using opened = await open();
      await enqueue(opened.queue, "own0", "own1");
      await opened.queue.enqueue([of("a", "a0")]);
      expect(await claimIds(opened.queue, { inTurns: true })).toEqual(["own0", "own1", "a0"]);
    });

    test("a returned job is the next of its caller", async () => {
      await using opened = await open();
      await opened.queue.enqueue([of("a", "a0"), of("a", "a1"), of("b", "b0"), of("b", "b1")]);
      expect((await claimOneByOne(opened.queue, 2)).sort()).toEqual(["a0", "b0"]);
      await apply(opened.queue, giveBack("a0"));
      expect((await claimOneByOne(opened.queue, 2)).sort()).toEqual(["a0", "b1"]);
    });

    test("without turns, callers make no difference", async () => {
      await using opened = await open();
      await opened.queue.enqueue([of("b", "1"), newJob("2"), of("a", "3"), of("b", "4"), newJob("5")]);
      expect(await claimIds(opened.queue)).toEqual(["1", "2", "3", "4", "5"]);
    });

    test("jobs that the asker must not get stay for others, and cost their caller no turn", async () => {
      await using opened = await open();
      await opened.queue.enqueue([of("a", "a0"), of("b", "b0"), of("b", "b1")]);
      const got = await claimIds(opened.queue, { limit: 1, inTurns: true, except: ["a0"] });
      expect(got).toEqual(["b0"]);
      expect((await claimIds(opened.queue, { inTurns: true })).sort()).toEqual(["a0", "b1"]);
    });

    test("two nodes share the turns", async ({ skip }) => {
      await using opened = await open();
      if (typeof opened.another !== "function") return skip(opened.another.cannot);
      await using second = await opened.another();
      await opened.queue.enqueue(numbered(20, "a").map((id) => of("a", id)));
      await opened.queue.enqueue(numbered(20, "b").map((id) => of("b", id)));
      const ids: string[] = [];
      for (let i = 0; i < 10; i++) {
        const some = await Promise.all([opened.queue, second].map((queue) => claimOneByOne(queue, 1)));
        ids.push(...some.flat());
      }
      expect(ids.filter((id) => id.startsWith("a"))).toHaveLength(10);
    });

    test("the order outlives a restart", async ({ skip }) => {
      await using opened = await open();
      if (typeof opened.reopen !== "function") return skip(opened.reopen.cannot);
      await opened.queue.enqueue([of("a", "a0"), of("a", "a1"), of("b", "b0")]);
      const queue = await opened.reopen();
      expect((await claimOneByOne(queue, 2)).sort()).toEqual(["a0", "b0"]);
      expect((await queue.read("a1", NOW)) as object).toMatchObject({ job: { caller: "a" } });
    });
  });

  describe("holders of one caller", () => {
    const bound = async (queue: Queue) => {
      const holders = await queue.holders(ENDPOINT);
      return Object.fromEntries(holders.map(({ holder, caller }) => [holder, caller]));
    };
    const enqueueBoth = (queue: Queue) =>
      queue.enqueue([of("a", "a0"), of("b", "b0"), of("a", "a1"), low("b", "low"), of("b", "b1"), newJob("own")]);

    test("get jobs of that caller only, normal priority first", async () => {
      await using opened = await open();
      await enqueueBoth(opened.queue);
      expect(await claimIds(opened.queue, { holder: "w1", of: "b", limit: 9 })).toEqual(["b0", "b1", "low"]);
      expect(await claimIds(opened.queue, { holder: "w2", of: "a", limit: 1 })).toEqual(["a0"]);
      expect(await claimIds(opened.queue, { holder: "w3", of: "", limit: 9 })).toEqual(["own"]);
    });

    test("are bound by their first job, whatever they ask for later", async () => {
      await using opened = await open();
      const { queue } = opened;
      await enqueueBoth(queue);
      await queue.renew("w1", ENDPOINT, 60_000);
      expect(await bound(queue)).toEqual({ w1: undefined });
      expect(await claimIds(queue, { holder: "w1", of: "nobody" })).toEqual([]);
      expect(await bound(queue)).toEqual({ w1: undefined });
      expect(await claimIds(queue, { holder: "w1", of: "a", limit: 1 })).toEqual(["a0"]);
      expect(await bound(queue)).toEqual({ w1: "a" });
      await apply(queue, finish("a0"));
      for (const caller of ["b", ""]) expect(await claimIds(queue, { holder: "w1", of: caller })).toEqual([]);
      expect(await claimIds(queue, { holder: "w1", of: "a" })).toEqual(["a1"]);
    });

    test("of two claims at once for two callers, one binds and the other gets nothing", async () => {
      await using opened = await open();
      await enqueueBoth(opened.queue);
      const both = await Promise.all(["a", "b"].map((caller) => claimIds(opened.queue, { of: caller })));
      expect(both.filter((ids) => ids.length > 0)).toHaveLength(1);
    });

    test("except what they must not get: then nothing binds them", async () => {
      await using opened = await open();
      const { queue } = opened;
      await queue.enqueue([of("a", "a0"), of("b", "b0")]);
      expect(await claimIds(queue, { of: "a", except: ["a0"] })).toEqual([]);
      expect(await claimIds(queue, { of: "b" })).toEqual(["b0"]);
    });

    test("stay bound when they are retired, until nothing of them is left", async () => {
      await using opened = await open();
      const { queue } = opened;
      await enqueueBoth(queue);
      await claimIds(queue, { of: "a", limit: 1 });
      await queue.retire("w1");
      await queue.renew("w1", ENDPOINT, 60_000);
      expect(await bound(queue)).toEqual({ w1: "a" });
      expect(await claimIds(queue, { of: "b" })).toEqual([]);
      await queue.unbind("w1");
      await queue.unbind("nobody");
      expect(await claimIds(queue, { of: "b", limit: 1 })).toEqual(["b0"]);
    });

    test("are unbound with the removal of the endpoint", async () => {
      await using opened = await open();
      await enqueueBoth(opened.queue);
      await claimIds(opened.queue, { of: "a", limit: 1 });
      await opened.queue.removeEndpoint(ENDPOINT);
      await opened.queue.enqueue([of("b", "b9")]);
      expect(await claimIds(opened.queue, { of: "b" })).toEqual(["b9"]);
    });

    test("stay bound after a restart, even if it lost the claim", async ({ skip }) => {
      await using opened = await open();
      if (typeof opened.reopen !== "function") return skip(opened.reopen.cannot);
      await enqueueBoth(opened.queue);
      await claimIds(opened.queue, { of: "a", limit: 1 });
      const queue = await opened.reopen();
      expect(await claimIds(queue, { of: "b" })).toEqual([]);
    });

    test("are bound for all nodes", async ({ skip }) => {
      await using opened = await open();
      if (typeof opened.another !== "function") return skip(opened.another.cannot);
      await using second = await opened.another();
      await enqueueBoth(opened.queue);
      await claimIds(opened.queue, { of: "a", limit: 1 });
      expect(await claimIds(second, { of: "b" })).toEqual([]);
      expect(await claimIds(second, { of: "a" })).toEqual(["a1"]);
    });
  });

  describe("callers", () => {
    test("are counted while their jobs wait or run", async () => {
      await using opened = await open();
      const { queue } = opened;
      await queue.enqueue([of("b", "b0"), of("a", "a0"), of("a", "a1"), newJob("own")]);
      await claim(queue, { limit: 2 });
      expect(await queue.callers(ENDPOINT)).toEqual([
        { caller: "a", inQueue: 1, inProgress: 1 },
        { caller: "b", inQueue: 0, inProgress: 1 },
      ]);
      await apply(queue, finish("b0"));
      await queue.purge(ENDPOINT, NOW);
      expect(await queue.callers(ENDPOINT)).toEqual([{ caller: "a", inQueue: 0, inProgress: 1 }]);
      expect(await queue.callers("another")).toEqual([]);
    });

    test("have lists of their own", async () => {
      await using opened = await open();
      const { queue } = opened;
      await queue.enqueue([of("a", "a0"), of("b", "b0"), newJob("own")]);
      const listed = async (caller: string) => {
        const { jobs, total } = await queue.list({ endpoint: ENDPOINT, caller, offset: 0, limit: 9, now: NOW });
        return [jobs.map(({ id }) => id), total];
      };
      expect(await listed("a")).toEqual([["a0"], 1]);
      expect(await listed("nobody")).toEqual([[], 0]);
    });

    test("a job keeps its caller and its fare", async () => {
      await using opened = await open();
      await opened.queue.enqueue([of("a", "a0", { fare: FARE })]);
      const [claimed] = await claim(opened.queue, { inTurns: true });
      expect(claimed!.job).toMatchObject({ caller: "a", fare: FARE });
      await apply(opened.queue, finish("a0"));
      expect(await opened.queue.read("a0", NOW)).toMatchObject({
        job: { caller: "a", fare: FARE, state: "COMPLETED" },
      });
    });
  });

  describe("charges", () => {
    const all = { from: 0, to: NOW + HOUR };
    const ended = (id: string, charge = CHARGE) => finish(id, { also: { charge } });

    test("are added up by caller, hour, endpoint and name, with the end of each job", async () => {
      await using opened = await open();
      const { queue } = opened;
      const later = { ...CHARGE, hour: CHARGE.hour + HOUR, amount: 100 };
      await queue.enqueue(["1", "2", "3"].map((id) => of("a", id, { fare: FARE })));
      await queue.enqueue([of("b", "4", { fare: { ...FARE, share: "other" } })]);
      await claim(queue, { limit: 4 });
      await apply(queue, ended("1"), ended("2"));
      await apply(queue, ended("3", later), ended("4"));
      const twice = { ...CHARGE, requests: 2, executionMs: 40, inputTokens: 6, outputTokens: 8, amount: 18 };
      const ofA = [
        { caller: "a", endpoint: ENDPOINT, share: "model", ...twice },
        { caller: "a", endpoint: ENDPOINT, share: "model", ...later },
      ];
      const ofB = { caller: "b", endpoint: ENDPOINT, share: "other", ...CHARGE };
      expect(await queue.charges({ caller: "a", from: 0, to: later.hour + 1 })).toEqual(ofA);
      expect(await queue.charges({ endpoints: [ENDPOINT], from: 0, to: later.hour })).toEqual([ofA[0], ofB]);
      expect(await queue.charges({ caller: "b", endpoints: ["another"], ...all })).toEqual([]);
      expect(await queue.charges({ endpoints: [], ...all })).toEqual([]);
    });

    test("can be read however large their sums are", async () => {
      await using opened = await open();
      const { queue } = opened;
      const large = { ...CHARGE, amount: 4e15, inputTokens: 1e9 };
      await queue.enqueue(["1", "2", "3"].map((id) => of("a", id, { fare: { ...FARE, key: "k" } })));
      await claim(queue, { limit: 3 });
      for (const id of ["1", "2", "3"]) await apply(queue, ended(id, large));
      expect(await queue.charges({ caller: "a", ...all })).toMatchObject([{ requests: 3, amount: 12e15 }]);
      expect(await queue.chargedByKey("k", 0)).toBe(12e15);
    });

    test("a refused change charges nothing, and neither does a job without a fare", async () => {
      await using opened = await open();
      const { queue } = opened;
      await queue.enqueue([of("a", "1", { fare: FARE }), newJob("own"), of("a", "free")]);
      await claim(queue, { limit: 3 });
      await apply(queue, ended("1"), ended("own"), ended("free"));
      expect(await queue.apply([ended("1")])).toMatchObject([{ applied: false }]);
      expect(await queue.charges({ caller: "a", ...all })).toMatchObject([{ requests: 1, amount: 9 }]);
    });

    test("of what is no job are added in the same way, also many at once", async () => {
      await using opened = await open();
      const { queue } = opened;
      const one = { caller: "a", endpoint: ENDPOINT, share: "model", ...CHARGE };
      await queue.enqueue([of("a", "1", { fare: FARE })]);
      await claim(queue);
      await apply(queue, ended("1"));
      await Promise.all(Array.from({ length: 10 }, () => queue.charge(one)));
      await queue.charge({ ...one, caller: "b" });
      expect(await queue.charges({ caller: "a", ...all })).toMatchObject([
        { requests: 11, executionMs: 220, amount: 99 },
      ]);
      expect(await queue.charges({ caller: "b", ...all })).toMatchObject([{ requests: 1, amount: 9 }]);
    });

    test("are also counted for the API key that the fare names", async () => {
      await using opened = await open();
      const { queue } = opened;
      const later = { ...CHARGE, hour: CHARGE.hour + HOUR, amount: 100 };
      await queue.enqueue(["1", "2"].map((id) => of("a", id, { fare: { ...FARE, key: "k1" } })));
      await queue.enqueue([of("a", "3", { fare: FARE })]);
      await claim(queue, { limit: 3 });
      await apply(queue, ended("1"), ended("3"));
      await apply(queue, ended("2", later));
      await queue.charge({ caller: "a", endpoint: ENDPOINT, share: "model", key: "k1", ...CHARGE });
      expect(await queue.chargedByKey("k1", CHARGE.hour)).toBe(118);
      expect(await queue.chargedByKey("k1", later.hour)).toBe(100);
      expect(await queue.chargedByKey("k2", 0)).toBe(0);
      expect(await queue.charges({ caller: "a", ...all })).toMatchObject([{ amount: 27 }, { amount: 100 }]);
    });

    test("stay when the endpoint is removed", async () => {
      await using opened = await open();
      const { queue } = opened;
      await queue.enqueue([of("a", "1", { fare: FARE })]);
      await claim(queue);
      await apply(queue, ended("1"));
      await queue.removeEndpoint(ENDPOINT);
      expect(await queue.charges({ caller: "a", ...all })).toMatchObject([{ amount: 9 }]);
    });

    test("outlive a restart", async ({ skip }) => {
      await using opened = await open();
      if (typeof opened.reopen !== "function") return skip(opened.reopen.cannot);
      await opened.queue.enqueue([of("a", "1", { fare: FARE })]);
      await claim(opened.queue);
      await apply(opened.queue, ended("1"));
      const queue = await opened.reopen();
      expect(await queue.charges({ caller: "a", ...all })).toMatchObject([{ amount: 9 }]);
    });
  });
}
