/** A node that is gone: when it leaves the list by itself, what keeps it there, and how the operator removes it. */
import { describe, expect, test } from "vitest";
import { makeGoneNode } from "../../../tests/installation-calls.ts";
import { setupPodNodes, sidesOf } from "../../../tests/pod-nodes.ts";
import { type PodWorld, setupPods } from "../../../tests/pod-world.ts";
import { EVERYONE, machines } from "../../machines/nodes.ts";
import { Collection } from "../../ports/store/collection.ts";
import { copies } from "../models/model.ts";

const NODES = "/v2/installation/nodes";
const MACHINES = "/v2/installation/machines";
const HOUR_MS = 3_600_000;
const SWEEP_MS = 10 * 60_000;

type Called = Pick<PodWorld, "call">;
const nodesOf = async (world: Called) => (await world.call("GET", NODES)).json.nodes;
const idsOf = async (world: Called, path: string) =>
  Object.values((await world.call("GET", path)).json as Record<string, { id: string }[]>)[0]!
    .map(({ id }) => id)
    .sort();
const remove = (world: Called, id: string) => world.call("DELETE", `${NODES}/${id}`);
const entriesOf = async (world: Called) =>
  (await world.call("GET", "/v2/account/audit?operation=deleteInstallationNode")).json.entries;

const VOLUME = { name: "v", size: 10, dataCenter: "EU-RO-1" };

/** A world with a node on record that is gone, and what a test puts on its machine. */
async function setup(options: { nodeHours?: number } = {}) {
  const world = await setupPods({ machine: { name: "here" }, keeping: options });
  await world.pass(2);
  await makeGoneNode(world);
  return world;
}

async function putVolume(world: Awaited<ReturnType<typeof setup>>): Promise<string> {
  const { id } = (await world.call("POST", "/v2/network-volumes", { body: VOLUME })).json;
  await world.services.volumeRecords.change(id, () => ({ set: { machine: "gone" } }));
  return id;
}

describe("by itself", () => {
  test("a node without anything leaves the list after a day, with its machine and an entry in the audit log", async () => {
    await using world = await setup();
    expect(await idsOf(world, NODES)).toEqual(["gone", "here"]);
    await world.clock.advance(SWEEP_MS);
    expect([await idsOf(world, NODES), await idsOf(world, MACHINES)]).toEqual([["here"], ["here"]]);
    expect(await entriesOf(world)).toMatchObject([
      { actor: { type: "system" }, resource: { type: "nodes", id: "gone" }, outcome: "done" },
    ]);
  });

  test("nothing stays of the lease by which it held its machine", async () => {
    await using world = await setup();
    const now = world.clock.now();
    const lease = (name: string, at: number) =>
      world.store.lease({ name, holder: "gone", now: at, until: at + 10_000 });
    for (const at of [now - 25 * HOUR_MS, now - 24 * HOUR_MS]) await lease("machine gone", at);
    await world.clock.advance(SWEEP_MS);
    expect(await lease("machine gone", world.clock.now())).toBe(await lease("a new name", world.clock.now()));
  });

  test("the time is a setting", async () => {
    await using world = await setup({ nodeHours: 25 });
    await world.clock.advance(SWEEP_MS);
    expect(await idsOf(world, NODES)).toEqual(["gone", "here"]);
  });

  test("it stays while its machine has a volume or something to clean up, and says so", async () => {
    await using world = await setup();
    const volume = await putVolume(world);
    const stays = async () => {
      await world.clock.advance(SWEEP_MS);
      return (await nodesOf(world)).find(({ id }: { id: string }) => id === "gone")?.stays;
    };
    expect(await stays()).toBe("1 network volume");
    expect((await world.call("DELETE", `/v2/network-volumes/${volume}`)).status).toBe(204);
    expect(await stays()).toBe("1 deleted network volume to clean up");
    await world.services.volumeRecords.removed.removeIfThere(volume);
    expect(await stays()).toBeUndefined();
  });

  test("it stays while it has the only copy of a model", async () => {
    await using world = await setup();
    const held = new Collection(world.store, copies);
    const put = (holder: string) => {
      const doc = { model: "m", holder, node: "n", process: "p", state: "READY" as never, reason: null, bytes: 1 };
      return held.insert({ id: `m.${holder}`, account: EVERYONE, createdAt: 0, doc });
    };
    await put("gone");
    const [node] = (await nodesOf(world)).filter(({ id }: { id: string }) => id === "gone");
    expect(node.stays).toBe("1 model that no other machine has");
    await put("other");
    await world.clock.advance(SWEEP_MS);
    expect(await idsOf(world, NODES)).toEqual(["here"]);
    expect(await held.get("m.gone")).toBeUndefined();
  });

  test("a machine that no node runs any more goes too", async () => {
    await using world = await setup();
    const lone = { node: "here", boxes: [], dataCenter: "EU-RO-1" };
    const at = { id: "lone", account: EVERYONE, createdAt: world.clock.now() - 25 * HOUR_MS };
    await new Collection(world.store, machines).put({ ...at, doc: lone });
    expect(await idsOf(world, MACHINES)).toContain("lone");
    await world.clock.advance(SWEEP_MS);
    expect(await idsOf(world, MACHINES)).toEqual(["here"]);
  });
});

describe("by the operator", () => {
  test("a node that is alive is not removed, nor one that nobody knows", async () => {
    await using world = await setup();
    expect(await remove(world, "here")).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining("This node is alive") },
    });
    expect((await remove(world, "nothing")).status).toBe(404);
    expect(await idsOf(world, NODES)).toEqual(["gone", "here"]);
  });

  test("a node whose machine has a volume is not removed, and the answer says what to delete", async () => {
    await using world = await setup();
    const volume = await putVolume(world);
    const { status, json } = await remove(world, "gone");
    expect([status, json.detail]).toEqual([
      400,
      "The machine of this node still has 1 network volume: delete these first.",
    ]);
    await world.call("DELETE", `/v2/network-volumes/${volume}`);
    expect((await remove(world, "gone")).status).toBe(204);
    expect(await world.store.list({ kind: "removed-network-volume", limit: 10 })).toEqual([]);
  });

  test("it leaves the list with what was to be cleaned up there, and the entry says whose key it was", async () => {
    await using world = await setup();
    await world.call("POST", `${MACHINES}/gone/action`, { body: { action: "drain" } });
    expect((await remove(world, "gone")).status).toBe(204);
    expect([await idsOf(world, NODES), await idsOf(world, MACHINES)]).toEqual([["here"], ["here"]]);
    expect(await world.store.list({ kind: "machine-drain", limit: 10 })).toEqual([]);
    const done = { actor: { type: "key" }, resource: { type: "nodes", id: "gone" }, outcome: "done" };
    expect(await entriesOf(world)).toMatchObject([done]);
  });

  test("a Pod on a lost machine keeps its node until somebody deletes the Pod; nothing of it is left then", async () => {
    const nodes = await setupPodNodes();
    const { id } = await nodes.first.create();
    await nodes.first.pass(2);
    const [lost, other] = sidesOf(nodes, id);
    const name = lost === nodes.first ? "first" : "second";
    await lost.abandon();
    await other.pass(32);
    expect(await remove(other, name)).toMatchObject({
      status: 400,
      json: { detail: "The machine of this node still has 1 Pod: delete these first." },
    });
    expect((await other.call("DELETE", `/v2/pods/${id}`)).status).toBe(204);
    expect((await remove(other, name)).status).toBe(204);
    for (const kind of ["pod", "instance", "pod-remains", "pod-key"])
      expect([kind, await other.store.list({ kind, limit: 10 })]).toEqual([kind, []]);
    expect(await idsOf(other, MACHINES)).not.toContain(name);
    await other[Symbol.asyncDispose]();
  });
});

test("a node that was removed and comes back is in the list again, with its machine", async () => {
  const { first, second } = await setupPodNodes();
  const store = first.store;
  for (const kind of ["node", "machine"]) await store.commit([{ do: "remove", kind, id: "second" }]);
  expect(await idsOf(first, NODES)).toEqual(["first"]);
  await second.pass(6);
  expect([await idsOf(first, NODES), await idsOf(first, MACHINES)]).toEqual([
    ["first", "second"],
    ["first", "second"],
  ]);
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
});
