/** Removing an owner removes all that belongs to it, in order and after any interruption, and no new kind of record is missed. */
import { describe, expect, test } from "vitest";
import { ownedKinds } from "../../tests/repository-rules.ts";
import { readSourceTree } from "../../tests/source-tree.ts";
import { setup as setupWorld } from "../../tests/world.ts";
import { FakeClock } from "../kernel/clock.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Removals, type Remover } from "./removals.ts";
import { type EndpointRemains, endpointRemovers, staying } from "./removers.ts";

function setup() {
  const store = new MemoryStore();
  const removals = new Removals({ store, clock: new FakeClock() });
  const done: string[] = [];
  const remover = (what: string): Remover => ({
    what,
    kinds: [],
    remove: async (id) => void done.push(`${what} ${id}`),
  });
  return { store, removals, done, remover, mark: (id: string) => store.commit([removals.marking("endpoint", id)]) };
}

test("removers are asked in their order, and the mark goes last", async () => {
  const { removals, done, remover, mark } = setup();
  removals.register("endpoint", [remover("batches"), remover("jobs")]);
  await mark("e1");
  expect(await removals.areLeft()).toBe(true);
  await removals.finish("endpoint", "e1");
  expect([done, await removals.areLeft()]).toEqual([["batches e1", "jobs e1"], false]);
});

test("a removal that is broken off is done again, from its beginning, by whoever comes next", async () => {
  const { store, removals, done, remover, mark } = setup();
  const broken = { ...remover("jobs"), remove: () => Promise.reject(new Error("the disk is full")) };
  removals.register("endpoint", [remover("batches"), broken]);
  await mark("e1");
  await expect(removals.finish("endpoint", "e1")).rejects.toThrow("the disk is full");
  const next = new Removals({ store, clock: new FakeClock() });
  next.register("endpoint", [remover("batches"), remover("jobs")]);
  await next.finishAll();
  expect([done, await next.areLeft()]).toEqual([["batches e1", "batches e1", "jobs e1"], false]);
});

test("a process that has nothing registered does not end a removal", async () => {
  const { removals, mark } = setup();
  await mark("e1");
  await expect(removals.finishAll()).rejects.toThrow("nothing is registered that removes what an endpoint leaves");
  expect(await removals.areLeft()).toBe(true);
});

describe("with an endpoint", () => {
  const removers = endpointRemovers({} as EndpointRemains);
  const kinds = removers.flatMap((remover) => remover.kinds);

  test("every kind of record goes that names one", () => {
    const tree = readSourceTree();
    const owned = ownedKinds(tree, "endpoint");
    const known = tree.flatMap(({ text }) => [...text.matchAll(/\bkind: "([^"]+)"/g)].map(([, kind]) => kind!));
    expect(owned.length).toBeGreaterThan(3);
    expect(owned.filter((kind) => !kinds.includes(kind) && !(kind in staying))).toEqual([]);
    expect([...kinds, ...Object.keys(staying)].filter((kind) => !known.includes(kind))).toEqual([]);
  });

  test("nothing that names it is left in the store", async () => {
    await using world = await setupWorld();
    const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
    await world.call("PATCH", `/v2/serverless/${id}`, { body: { image: "alpine" } });
    await world.call("POST", `/v2/${id}/batch`, { body: [{ input: {} }] });
    await world.services.workerKeys.issue(world.owner.account, id);
    const naming = async () => {
      const all = await Promise.all(["endpoint", ...kinds].map((kind) => world.store.list({ kind, limit: 100 })));
      return all.flat().filter((record) => JSON.stringify(record).includes(id));
    };
    expect(new Set((await naming()).map(({ kind }) => kind))).toEqual(
      new Set(["endpoint", "release", "batch", "batch-page", "batch-text", "worker-key"]),
    );
    expect((await world.call("DELETE", `/v2/serverless/${id}`)).status).toBe(204);
    expect([await naming(), await world.services.removals.areLeft()]).toEqual([[], false]);
  });
});
