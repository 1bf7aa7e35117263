/** A public endpoint that gives each account workers of its own: none ever runs jobs of two accounts, and nobody starves. */
import { expect, test } from "vitest";
import { type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";
import { SLICE_MS } from "../../../jobs/own-workers.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";

const PATH = "/v2/public-endpoints";

async function setup({ workers = { max: 1 }, share = { workerPerAccount: true } as object } = {}) {
  const world = await setupFleet({ rateLimits: "off", endpoint: { workers } });
  const keys: Record<string, string> = {};
  for (const name of ["a", "b", "c"]) {
    const of = await world.services.accounts.create(name, `${name}@localhost`);
    keys[name] = await world.newKey({ of });
  }
  const body = { name: "a-model", endpointId: world.endpoint, everyone: true, ...share };
  const made = await world.call("POST", PATH, { body });
  if (made.status !== 201) throw new Error(made.text);
  await world.pass(5);
  const call = (who: string, method: string, path: string, body?: object) =>
    world.call(method, `/v2/a-model${path}`, { key: keys[who]!, ...(body && { body }) });
  return {
    ...world,
    run: async (who: string) => (await call(who, "POST", "/run", { input: { who } })).json.id as string,
    statusOf: async (who: string, id: string) => (await call(who, "GET", `/status/${id}`)).json,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

interface Done {
  worker: string;
  who: string;
  atMs: number;
}

/** Lets every running worker take and end jobs, each job in a second, and returns who was served by whom. */
async function work(world: FleetWorld, seconds: number): Promise<Done[]> {
  const done: Done[] = [];
  const asking = new Set<string>();
  const serve = async (program: Program) => {
    if (asking.has(program.id)) return;
    asking.add(program.id);
    const job = await program.take().catch(() => undefined);
    if (job) {
      done.push({ worker: program.id, who: (job.input as { who: string }).who, atMs: world.clock.now() });
      await program.done(job.id).catch(() => undefined);
    }
    asking.delete(program.id);
  };
  const open: Promise<void>[] = [];
  for (let s = 0; s < seconds; s++) {
    for (const program of world.running()) open.push(serve(program));
    await world.pass(1);
  }
  // Requests that are held end when their time is over.
  await world.pass(30);
  await Promise.all(open);
  return done;
}

const accountsOf = (done: readonly Done[]) =>
  [...Map.groupBy(done, ({ worker }) => worker).values()].map((its) => [...new Set(its.map(({ who }) => who))]);

const eachServesOne = (done: readonly Done[]) => accountsOf(done).every((accounts) => accounts.length === 1);

test("a worker that is idle is replaced for another account, and the reason says so meanwhile", async () => {
  await using world = await setup();
  await world.run("a");
  await world.pass(2);
  const [first] = world.running();
  const job = await first!.take();
  await first!.done(job!.id);
  const id = await world.run("b");
  const asked = first!.take();
  await world.settle();
  expect(await world.statusOf("b", id)).toMatchObject({ status: "IN_QUEUE", waitReasonCode: expect.any(String) });
  await world.pass(8);
  expect(await asked).toBeUndefined();
  const [second] = world.running();
  expect(second!.id).not.toBe(first!.id);
  expect((await second!.take())!.id).toBe(id);
});

test("while the only worker is busy for another account, the job says that it serves others", async () => {
  await using world = await setup();
  await world.run("a");
  await world.pass(2);
  await world.running()[0]!.take();
  const id = await world.run("b");
  expect(await world.statusOf("b", id)).toMatchObject({ waitReasonCode: "serves-others" });
  // Without the rule, it only waits for the worker.
  await world.call("PATCH", `${PATH}/a-model`, { body: { workerPerAccount: false } });
  expect(await world.statusOf("b", id)).toMatchObject({ waitReasonCode: "workers-busy" });
});

test("no worker ever serves two accounts, and an account with many jobs does not starve one with few", async () => {
  await using world = await setup();
  for (let i = 0; i < 120; i++) await world.run("a");
  const before = world.clock.now();
  await work(world, 5);
  for (let i = 0; i < 2; i++) await world.run("b");
  await world.run("c");
  const done = await work(world, 150);
  expect(eachServesOne(done)).toBe(true);
  for (const [who, jobs] of [
    ["b", 2],
    ["c", 1],
  ] as const) {
    const its = done.filter((one) => one.who === who);
    expect(its).toHaveLength(jobs);
    expect(its[0]!.atMs - before).toBeLessThan(3 * SLICE_MS + 60_000);
  }
  // The worker returns to the account that still has jobs.
  expect(done.at(-1)!.who).toBe("a");
});

test("workers are shared out between accounts with many jobs", async () => {
  await using world = await setup({ workers: { max: 4 } });
  for (const who of ["a", "b"]) for (let i = 0; i < 150; i++) await world.run(who);
  const done = await work(world, 60);
  expect(eachServesOne(done)).toBe(true);
  const late = done.slice(-40);
  const ofA = new Set(late.filter(({ who }) => who === "a").map(({ worker }) => worker)).size;
  const ofB = new Set(late.filter(({ who }) => who === "b").map(({ worker }) => worker)).size;
  expect([ofA, ofB]).toEqual([2, 2]);
});

test("turned on later, it replaces the workers that may have served anyone", async () => {
  await using world = await setup({ share: {} });
  await world.run("a");
  await world.pass(2);
  const [first] = world.running();
  await first!.done((await first!.take())!.id);
  await world.call("PATCH", `${PATH}/a-model`, { body: { workerPerAccount: true } });
  // All nodes know of the change by then.
  await world.pass(4);
  await world.run("a");
  const asked = first!.take();
  await world.pass(10);
  expect(await asked).toBeUndefined();
  const [second] = world.running();
  expect(second!.id).not.toBe(first!.id);
  expect(await second!.take()).toBeDefined();
  // Turned off again, everyone shares the workers.
  await world.call("PATCH", `${PATH}/a-model`, { body: { workerPerAccount: false } });
  await world.run("b");
  expect(await second!.take()).toBeDefined();
});

test("after a crash of the server, a worker still serves its own account only", async () => {
  const before = await setup();
  await before.run("a");
  await before.pass(2);
  const [worker] = before.running();
  const job = await worker!.take();
  const id = await before.run("b");
  await using world = await before.crash();
  const [same] = world.running();
  expect(same!.id).toBe(worker!.id);
  await same!.done(job!.id);
  const asked = same!.take();
  await world.pass(10);
  expect(await asked).toBeUndefined();
  const [fresh] = world.running();
  expect(fresh!.id).not.toBe(worker!.id);
  expect((await fresh!.take())!.id).toBe(id);
});

test("a worker of another server that was busy while the rule began serves nobody else", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const both = { signals, rateLimits: "off", endpoint: { workers: { max: 1 } } };
  const first = await setupFleet({ ...both, machine: { name: "first", capacity: { vcpu: 1, ceilings: false } } });
  const beside = { ...both, store: first.store, found: first, endpoint: first.endpoint };
  await using second = await setupFleet({ ...beside, machine: { name: "second" } });
  await using _ = first;
  await first.call("POST", PATH, { body: { name: "a-model", endpointId: first.endpoint, everyone: true } });
  const keyOf = async (name: string) =>
    first.newKey({ of: await first.services.accounts.create(name, `${name}@localhost`) });
  const run = async (key: string) =>
    (await first.call("POST", "/v2/a-model/run", { key, body: { input: {} } })).json.id;
  await first.pass(6);
  const job = await run(await keyOf("a"));
  await first.pass(3);
  const [worker] = second.running();
  expect((await worker!.take())?.id).toBe(job);
  await first.call("PATCH", `${PATH}/a-model`, { body: { workerPerAccount: true } });
  await first.pass(10);
  await worker!.done(job);
  await run(await keyOf("b"));
  const asked = worker!.take();
  await first.pass(3);
  expect((await asked)?.id).toBeUndefined();
});
