/** Which worker gets a request, how long a request waits for one, and what the scaler learns meanwhile. */

import { describe, expect, test } from "vitest";
import { FakeClock, turn } from "../kernel/clock.ts";
import { problem } from "../kernel/problem.ts";
import { because } from "../kernel/reason.ts";
import { parseAffinity } from "./affinity.ts";
import { type Asking, Balancer, type Slot } from "./balancer.ts";

const EP = "endpoint";

function setup() {
  const clock = new FakeClock();
  const rose: number[] = [];
  const balancer: Balancer = new Balancer({
    clock,
    rose: (endpoint) => rose.push(balancer.demand(endpoint).waiting + balancer.demand(endpoint).inFlight),
  });
  const backend = (worker: string) => ({ worker, dial: () => Promise.reject(new Error("not dialled here")) });
  const acquire = (asking: Partial<Asking> & { to?: string } = {}) =>
    balancer.acquire(EP, { perWorker: 1, affinity: parseAffinity(asking.to), ...asking });
  return {
    clock,
    balancer,
    rose,
    acquire,
    start: (worker: string) => balancer.add(EP, backend(worker)),
    ready: (worker: string) => balancer.ready(EP, worker),
    both(worker: string) {
      balancer.add(EP, backend(worker));
      balancer.ready(EP, worker);
    },
  };
}

/** Returns the current outcome. A pending promise is "waiting". */
async function outcome(promise: Promise<Slot>): Promise<string> {
  const waits = turn().then(() => "waiting");
  const settled = promise.then(
    ({ backend }) => backend.worker,
    (error) => `${error.code} ${error.word ?? error.message}`,
  );
  return Promise.race([settled, waits]);
}

describe("the choice", () => {
  test("goes to the least busy worker", async () => {
    const { both, acquire } = setup();
    both("a");
    both("b");
    const first = await acquire();
    const second = await acquire();
    expect([first.backend.worker, second.backend.worker]).toEqual(["a", "b"]);
    first.release();
    expect((await acquire()).backend.worker).toBe("a");
  });

  test("of equally busy ones goes to the one that was unused for longest", async () => {
    const { both, acquire } = setup();
    for (const worker of ["a", "b", "c"]) both(worker);
    const order: string[] = [];
    for (let i = 0; i < 6; i++) {
      const slot = await acquire();
      order.push(slot.backend.worker);
      slot.release();
    }
    expect(order).toEqual(["a", "b", "c", "a", "b", "c"]);
  });

  test("leaves a slow worker with what it has while others are quick", async () => {
    const { both, acquire } = setup();
    both("slow");
    both("quick");
    await acquire();
    for (let i = 0; i < 10; i++) {
      const slot = await acquire();
      expect(slot.backend.worker).toBe("quick");
      slot.release();
    }
  });

  test("passes over a worker that is starting, doubtful, frozen or leaving", async () => {
    const { balancer, both, start, acquire } = setup();
    start("starting");
    for (const worker of ["doubtful", "frozen", "leaving", "fit"]) both(worker);
    balancer.doubt(EP, "doubtful", "GET /ping answered 500");
    balancer.freeze(EP, "frozen");
    void balancer.drain(EP, "leaving");
    for (let i = 0; i < 5; i++) expect((await acquire()).backend.worker).toBe("fit");
  });

  test("comes back to a doubtful worker when it is ready again", async () => {
    const { balancer, both, ready, acquire } = setup();
    both("a");
    balancer.doubt(EP, "a", "no answer");
    const waiting = acquire();
    expect(await outcome(waiting)).toBe("waiting");
    ready("a");
    expect(await outcome(waiting)).toBe("a");
  });

  test("a release counts once, however often it is called", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    const [first] = [await acquire(), await acquire()];
    first.release();
    first.release();
    expect(balancer.demand(EP).inFlight).toBe(1);
  });

  test("a worker that refuses connections is passed over until its health is known anew", async () => {
    const { balancer, both, ready, acquire } = setup();
    let asked = 0;
    balancer.add(EP, { worker: "broken", dial: () => Promise.reject(new Error()), doubted: () => asked++ });
    ready("broken");
    both("fit");
    const slot = await acquire();
    expect(slot.backend.worker).toBe("broken");
    slot.refused("nobody listens");
    slot.release();
    expect(asked).toBe(1);
    for (let i = 0; i < 3; i++) expect((await acquire()).backend.worker).toBe("fit");
    ready("broken");
    expect((await acquire()).backend.worker).toBe("broken");
  });
});

describe("waiting for a worker", () => {
  test("those who wait are served in order as soon as a worker is ready", async () => {
    const { start, ready, acquire } = setup();
    const waiting = [acquire(), acquire(), acquire()];
    start("a");
    expect(await outcome(waiting[0]!)).toBe("waiting");
    ready("a");
    const order: number[] = [];
    await Promise.all(waiting.map((promise, i) => promise.then(() => order.push(i))));
    expect(order).toEqual([0, 1, 2]);
  });

  test("ends after 2 minutes with 'no workers available' and the reason", async () => {
    const { clock, balancer, start, acquire } = setup();
    start("a");
    balancer.doubt(EP, "a", "GET /ping on port 80: connection refused");
    const waiting = acquire();
    await clock.advance(119_999);
    expect(await outcome(waiting)).toBe("waiting");
    const refused = expect(waiting).rejects.toMatchObject({
      code: "no-capacity",
      word: "no workers available",
      detail: "no worker was ready within 2 minutes: worker a: GET /ping on port 80: connection refused",
    });
    await clock.advance(1);
    await refused;
  });

  const away = problem("unavailable", "The database did not answer in time.");
  test.each([
    ["the fleet's reason comes first", async () => because("paused"), "paused: max workers is 0"],
    ["that the store is away is the reason", () => Promise.reject(away), away.message],
  ])("%s", async (_, why, told) => {
    const { clock, acquire } = setup();
    const refused = expect(acquire({ why })).rejects.toThrow(told);
    await clock.advance(120_000);
    await refused;
  });

  test("ends at once when the client goes away, and counts no more", async () => {
    const { clock, balancer, acquire } = setup();
    const client = new AbortController();
    const waiting = acquire({ gone: client.signal });
    expect(balancer.demand(EP).waiting).toBe(1);
    client.abort();
    await expect(waiting).rejects.toThrow("the client went away");
    expect(balancer.demand(EP)).toEqual({ waiting: 0, inFlight: 0, resume: [] });
    expect(clock.waiting).toBe(0);
  });

  test("a client that has already gone does not wait", async () => {
    const { acquire, clock } = setup();
    await expect(acquire({ gone: AbortSignal.abort() })).rejects.toThrow("the client went away");
    expect(clock.waiting).toBe(0);
  });

  test("ends when the server stops", async () => {
    const { clock, balancer, acquire } = setup();
    const refused = expect(acquire()).rejects.toMatchObject({ code: "unavailable" });
    balancer.close();
    await refused;
    await expect(acquire()).rejects.toMatchObject({ code: "unavailable" });
    expect(clock.waiting).toBe(0);
  });

  test("requests in flight outlive the stop, until all is let go of", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    const slot = await acquire();
    balancer.close();
    expect(slot.gone.aborted).toBe(false);
    balancer[Symbol.dispose]();
    expect(slot.gone.aborted).toBe(true);
  });
});

describe("affinity", () => {
  test.each([
    ["", undefined],
    ["  ", undefined],
    ["w1", { kind: "soft", worker: "w1" }],
    ["soft w1", { kind: "soft", worker: "w1" }],
    ["strict w1", { kind: "strict", worker: "w1" }],
    ["strict-resume w1", { kind: "strict-resume", worker: "w1" }],
  ])("'%s' is read", (text, expected) => expect(parseAffinity(text)).toEqual(expected));

  test.each([["strict a b"], ["firm a"], ["a;b"], ["ä"]])("'%s' is refused", (text) =>
    expect(() => parseAffinity(text)).toThrow("worker affinity must be"),
  );

  test("soft: the named worker however busy, another when it is not ready or gone", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    both("b");
    for (let i = 0; i < 3; i++) expect((await acquire({ to: "b" })).backend.worker).toBe("b");
    balancer.doubt(EP, "b", "no answer");
    expect((await acquire({ to: "b" })).backend.worker).toBe("a");
    balancer.remove(EP, "b", "exit 0");
    expect((await acquire({ to: "b" })).backend.worker).toBe("a");
  });

  test("strict: waits for the named worker while others are free", async () => {
    const { both, start, ready, acquire } = setup();
    both("a");
    start("b");
    const waiting = acquire({ to: "strict b" });
    expect(await outcome(waiting)).toBe("waiting");
    ready("b");
    expect(await outcome(waiting)).toBe("b");
  });

  test("strict: worker_timeout after 5 minutes", async () => {
    const { clock, start, acquire } = setup();
    start("b");
    const waiting = acquire({ to: "strict b" });
    const settled = waiting.catch(({ code, word }) => `${code} ${word}`);
    await clock.advance(299_999);
    expect(await outcome(waiting)).toBe("waiting");
    await clock.advance(1);
    expect(await settled).toBe("no-capacity worker_timeout");
  });

  test.each([["strict"], ["strict-resume"]])("%s: 404 affinity_worker_gone for one that is not there", async (kind) => {
    const { balancer, both, acquire } = setup();
    both("a");
    expect(await outcome(acquire({ to: `${kind} b` }))).toBe("not-found affinity_worker_gone");
    expect(balancer.demand(EP).waiting).toBe(0);
  });

  test("strict: 404 affinity_worker_gone as soon as the worker ends or is to be ended", async () => {
    const { balancer, start, acquire } = setup();
    start("a");
    start("b");
    const [ended, leaving] = [acquire({ to: "strict a" }), acquire({ to: "strict b" })];
    balancer.remove(EP, "a", "exit 7");
    void balancer.drain(EP, "b");
    await expect(ended).rejects.toMatchObject({ word: "affinity_worker_gone", detail: "worker a is gone: exit 7" });
    expect(await outcome(leaving)).toBe("not-found affinity_worker_gone");
  });

  test("strict-resume: the fleet learns which frozen worker to wake, and the request goes to it", async () => {
    const { balancer, both, acquire } = setup();
    for (const worker of ["a", "b", "c"]) {
      both(worker);
      balancer.freeze(EP, worker);
    }
    const resumed = acquire({ to: "strict-resume b" });
    const patient = acquire({ to: "strict c" });
    expect(balancer.demand(EP).resume).toEqual(["b"]);
    both("b");
    expect(await outcome(resumed)).toBe("b");
    expect(await outcome(patient)).toBe("waiting");
    expect(balancer.demand(EP).resume).toEqual([]);
  });
});

describe("demand", () => {
  test("counts those in flight and those who wait", async () => {
    const { balancer, both, acquire } = setup();
    void acquire();
    void acquire();
    expect(balancer.demand(EP)).toEqual({ waiting: 2, inFlight: 0, resume: [] });
    both("a");
    expect(balancer.demand(EP)).toEqual({ waiting: 0, inFlight: 2, resume: [] });
  });

  test("the first request at zero workers is told at once", () => {
    const { rose, acquire } = setup();
    void acquire({ perWorker: 4 });
    expect(rose).toEqual([1]);
  });

  test("is told when the load passes what the workers are meant to have, and not with every request", async () => {
    const { rose, both, acquire } = setup();
    both("a");
    for (let i = 0; i < 12; i++) await acquire({ perWorker: 4 });
    expect(rose).toEqual([5, 9]);
  });

  test("is told again after the load has fallen", async () => {
    const { rose, both, acquire } = setup();
    both("a");
    for (let i = 0; i < 3; i++) {
      const slots = [await acquire(), await acquire()];
      for (const slot of slots) slot.release();
    }
    expect(rose).toEqual([2, 2, 2]);
  });

  test("says how busy each worker is, and since when an idle one is idle", async () => {
    const { clock, balancer, both, acquire } = setup();
    const start = clock.now();
    both("a");
    both("b");
    const slot = await acquire();
    await clock.advance(7000);
    const busy = { ready: true, inFlight: 1, idleSince: undefined };
    const idle = { ready: true, inFlight: 0, idleSince: start };
    expect(Object.fromEntries(balancer.occupations(EP))).toEqual({ a: busy, b: idle });
    slot.release();
    expect(balancer.occupations(EP).get("a")).toEqual({ ready: true, inFlight: 0, idleSince: start + 7000 });
    expect(balancer.occupations("other").size).toBe(0);
  });

  test("endpoints do not mix", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    await acquire();
    expect(balancer.demand("other")).toEqual({ waiting: 0, inFlight: 0, resume: [] });
    const client = new AbortController();
    const other = balancer.acquire("other", { perWorker: 1, gone: client.signal });
    expect(await outcome(other)).toBe("waiting");
    client.abort();
    await expect(other).rejects.toThrow();
  });
});

describe("the end of a worker", () => {
  test("draining resolves with its last request", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    const slot = await acquire();
    let drained = false;
    const draining = balancer.drain(EP, "a").then(() => {
      drained = true;
    });
    expect(await outcome(acquire())).toBe("waiting");
    expect(drained).toBe(false);
    slot.release();
    await draining;
    expect(slot.gone.aborted).toBe(false);
  });

  test("draining an idle or unknown worker is over at once", async () => {
    const { balancer, both } = setup();
    both("a");
    await expect(balancer.drain(EP, "a")).resolves.toBeUndefined();
    await expect(balancer.drain(EP, "nobody")).resolves.toBeUndefined();
  });

  test("removal aborts what is in flight, with the reason", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    const slot = await acquire();
    balancer.remove(EP, "a", "out of memory: used 512 MB of 512 MB");
    expect(slot.gone.reason).toEqual(new Error("out of memory: used 512 MB of 512 MB"));
    slot.release();
    expect(balancer.demand(EP).inFlight).toBe(0);
  });

  test("freezing aborts its connections, and a thaw begins with new ones", async () => {
    const { balancer, both, acquire } = setup();
    both("a");
    const before = await acquire();
    before.release();
    balancer.freeze(EP, "a");
    expect(before.gone.aborted).toBe(true);
    both("a");
    const after = await acquire();
    expect(after.gone.aborted).toBe(false);
    expect(after.backend).not.toBe(before.backend);
  });

  test("a late word about a worker that is gone changes nothing", async () => {
    const { balancer, both, ready, acquire } = setup();
    both("a");
    balancer.remove(EP, "a", "exit 0");
    ready("a");
    balancer.doubt(EP, "a", "no answer");
    balancer.freeze(EP, "a");
    expect(await outcome(acquire())).toBe("waiting");
  });
});
