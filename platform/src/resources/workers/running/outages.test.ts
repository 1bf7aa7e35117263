/** What becomes of workers while the database or the driver of their machine is away. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../../tests/fleet-world.ts";
import { InterceptedStore } from "../../../../tests/world.ts";
import { problem } from "../../../kernel/problem.ts";
import { DriverAway } from "../../../ports/compute/compute.ts";

test.each(["keyId", "startedAt"])(
  "a database that is away while the %s of a worker is recorded does not count as a failed start",
  async (field) => {
    const store = new InterceptedStore();
    await using world = await setupFleet({ store });
    let isAway = true;
    store.beforeCommit = (writes) => {
      if (isAway && writes.some((write) => write.do === "patch" && write.kind === "instance" && write.set[field]))
        throw problem("unavailable", "The database cannot be reached at the moment.");
    };
    const job = await world.submit();
    await world.pass(3);
    isAway = false;
    await world.pass(3);
    const [worker] = world.running();
    expect((await worker!.take())?.id).toBe(job);
    await world.settle();
    expect([(await world.records()).map(({ state }) => state), world.started.length]).toEqual([["READY"], 1]);
    expect((await world.log(worker!.id)).filter((line) => line.startsWith("[failed"))).toEqual([]);
  },
);

test.each(["prepare", "start"] as const)(
  "a worker whose container engine goes away at its %s waits for the engine, with the reason, and is no failed start",
  async (verb) => {
    // A cluster prepares images by itself, and says later what came of it.
    await using world = await setupFleet({ machine: { isCluster: false } });
    world.compute.fail(verb, new DriverAway("the container engine does not answer"));
    const job = await world.submit();
    await world.pass(120);
    expect(await world.status(job)).toMatchObject({ waitReasonCode: "engine-away" });
    expect((await world.records()).map(({ state }) => state)).toEqual(["PLACED"]);
    const { workers } = (await world.call("GET", `/v2/serverless/${world.endpoint}/workers`)).json;
    const { id } = workers[0];
    expect((await world.log(id)).length).toBeLessThan(5);
    world.compute.fail(verb, undefined);
    await world.pass(3);
    const [worker] = world.running();
    expect((await worker!.take())?.id).toBe(job);
    await world.settle();
    expect(await world.records()).toMatchObject([{ state: "READY", reason: null }]);
    expect((await world.log(id)).filter((line) => line.startsWith("[failed"))).toEqual([]);
  },
);

test.each(["fails", "hangs"])(
  "a worker that never asks for work is ended also while the list of a driver %s, such as of a stopped engine",
  async (how) => {
    await using world = await setupFleet({ endpoint: { env: { RUNPOD_INIT_TIMEOUT: "60" } } });
    await world.submit();
    await world.settle();
    const [worker] = world.running();
    const { list } = world.compute;
    world.compute.list = () => (how === "fails" ? Promise.reject(new Error("away")) : new Promise(() => {}));
    await world.pass(65);
    world.compute.list = list;
    expect(worker!.instance.exited).toBe(true);
  },
);

test("a driver that hangs in what it is asked about instances makes these duties overdue, and no other one", async () => {
  await using world = await setupFleet();
  const job = await world.submit();
  await world.settle();
  expect((await world.running()[0]!.take())?.id).toBe(job);
  const answer = Promise.withResolvers<never>();
  const { list } = world.compute;
  Object.defineProperty(world.compute, "stats", { value: { of: () => answer.promise } });
  world.compute.list = () => answer.promise;
  await world.pass(150);
  const { duties } = (await world.call("GET", "/v2/installation/duties")).json;
  world.compute.list = list;
  answer.reject(new Error("away"));
  await world.pass(1);
  const overdue = duties.filter((duty: { overdue: boolean }) => duty.overdue);
  expect(overdue.map(({ name }: { name: string }) => name)).toEqual([
    "compare what runs with the records",
    "keep Pods",
  ]);
});
