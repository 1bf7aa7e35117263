/** What the owner of the installation sees of nodes and machines, and how a machine is drained. */
import { expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { setupPodNodes, sidesOf } from "../../../tests/pod-nodes.ts";
import { CPU_POD, type PodWorld, setupPods } from "../../../tests/pod-world.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";

type Called = Pick<PodWorld, "call">;
const NODES = "/v2/installation/nodes";
const DUTIES = "/v2/installation/duties";
const MACHINES = "/v2/installation/machines";

const nodesOf = async (world: Called) => (await world.call("GET", NODES)).json.nodes;
const machineOf = async (world: Called, id: string) =>
  (await world.call("GET", MACHINES)).json.machines.find((one: { id: string }) => one.id === id);
const act = (world: Called, id: string, action: string) =>
  world.call("POST", `${MACHINES}/${id}/action`, { body: { action } });

test("nodes and machines are listed with state, version, capacity, what is free and what runs there", async () => {
  await using nodes = await setupPodNodes();
  const { first } = nodes;
  const { id } = await first.create();
  await first.pass(2);
  const [here] = sidesOf(nodes, id);
  const name = here === first ? "first" : "second";
  expect((await nodesOf(first)).map(({ id }: { id: string }) => id).toSorted()).toEqual(["first", "second"]);
  expect(await nodesOf(first)).toContainEqual({
    ...{ id: "second", state: "UP", silentSince: null, version: "0.0.0-test", url: nodes.second.url },
    ...{ lastSeenAt: expect.any(String), clockAhead: null, machines: ["second"], stays: null },
  });
  const machine = await machineOf(nodes.second, name);
  expect(machine).toMatchObject({
    ...{ node: name, state: "UP", silentSince: null, drainingSince: null, dataCenterId: "EU-RO-1" },
    ...{ capacity: { vcpuCount: 2 }, free: { vcpuCount: 0 }, pods: 1, workers: 0 },
  });
  const instance = { kind: "pod", owner: id, account: first.owner.account, state: "RUNNING", stays: null };
  expect(machine.instances).toMatchObject([instance]);
  const { instances, pagination } = (await first.call("GET", `${MACHINES}/${name}/instances?limit=1`)).json;
  expect([instances, pagination]).toMatchObject([[instance], { hasNextPage: false }]);
});

test("a node shows how far its clock is from the database's, and nothing while that is not known", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  let aheadMs: number | undefined = -2500.4;
  await using world = await setupPods({ signals, clockAheadMs: () => aheadMs });
  const shown = async () => {
    await world.pass(6);
    return (await nodesOf(world)).map(({ clockAhead }: { clockAhead: number | null }) => clockAhead);
  };
  expect(await shown()).toEqual([-2.5]);
  aheadMs = undefined;
  expect(await shown()).toEqual([null]);
});

test("every background duty is listed by its name, with its period, its last result and its last error", async () => {
  await using world = await setupFleet();
  await world.pass(2);
  const { duties } = (await world.call("GET", DUTIES)).json;
  const [planning] = duties.filter(({ name }: { name: string }) => name === "plan workers");
  expect(planning).toMatchObject({ node: "machine", every: 1, lastResult: "GOOD", failuresInRow: 0, lastError: null });
  expect(planning).toMatchObject({ running: false, runningSince: null, overdue: false });
  expect(duties.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(["plan Pods", "send webhooks"]),
  );
  expect(new Set(duties.map(({ name }: { name: string }) => name)).size).toBe(duties.length);
});

test("a page of them goes on where the one before ended", async () => {
  await using nodes = await setupPodNodes();
  const { first } = nodes;
  const one = (await first.call("GET", `${MACHINES}?limit=1`)).json;
  const two = (await first.call("GET", `${MACHINES}?limit=1&cursor=${one.pagination.nextCursor}`)).json;
  const ids = [...one.machines, ...two.machines].map(({ id }: { id: string }) => id);
  expect([ids.toSorted(), two.pagination.hasNextPage]).toEqual([["first", "second"], false]);
});

test("what is not heard of is SILENT, with the time", async () => {
  const { first, second } = await setupPodNodes();
  await first.abandon();
  await second.pass(15);
  const node = (await nodesOf(second)).find(({ id }: { id: string }) => id === "first");
  expect(node).toMatchObject({ state: "SILENT", silentSince: node.lastSeenAt });
  expect(await machineOf(second, "first")).toMatchObject({ state: "SILENT", silentSince: node.lastSeenAt });
  // One that is drained is off for good, and no alert counts it any more.
  const counted = async (state: string) => {
    await second.pass(2);
    const { text } = await second.call("GET", "/metrics");
    return text.includes(`millrace_machines{state="${state}"} 1`);
  };
  expect([await counted("SILENT"), await counted("DRAINING")]).toEqual([true, false]);
  await act(second, "first", "drain");
  expect([await counted("SILENT"), await counted("DRAINING")]).toEqual([false, true]);
  await second[Symbol.asyncDispose]();
});

test("a machine whose container engine is away says so, and is counted", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  first.compute.whyAway = async (image) =>
    image === "host" ? undefined : { why: "the container engine does not answer", isNone: false };
  await first.pass(6);
  const away = { images: "container", reason: "the container engine does not answer" };
  expect(await machineOf(second, "first")).toMatchObject({ state: "UP", away: [away] });
  expect(await machineOf(second, "second")).toMatchObject({ away: [] });
  const { text } = await second.call("GET", "/metrics");
  expect(text).toContain('millrace_machines_away{images="container"} 1');
  expect(text).toContain('millrace_machines_away{images="host"} 0');
});

test("nobody but the installation's owner sees or does any of it, and a refused change is in the audit log", async () => {
  await using nodes = await setupPodNodes();
  const { first } = nodes;
  const keys = [await first.strangersKey(), await first.newKey({ scopes: ["account:write"] })];
  for (const key of keys) {
    for (const path of [NODES, DUTIES, MACHINES, `${MACHINES}/first/instances`]) {
      const { status, json } = await first.call("GET", path, { key });
      expect([status, json.detail]).toEqual([403, expect.stringContaining("Only the installation's owner")]);
    }
    const body = { action: "drain" };
    expect((await first.call("POST", `${MACHINES}/first/action`, { key, body })).status).toBe(403);
  }
  expect((await machineOf(first, "first")).state).toBe("UP");
  const { entries } = (await first.call("GET", "/v2/account/audit?operation=machineAction")).json;
  expect(entries).toMatchObject([{ outcome: "refused", resource: { type: "machines", id: "first" } }]);
});

test("a machine that nobody knows is 404, an action that nobody knows 422", async () => {
  await using nodes = await setupPodNodes();
  expect((await act(nodes.first, "nowhere", "drain")).status).toBe(404);
  expect((await nodes.first.call("GET", `${MACHINES}/nowhere/instances`)).status).toBe(404);
  expect((await act(nodes.first, "first", "explode")).status).toBe(422);
});

test("a drained machine gets nothing new, on whichever node one asks, until that is taken back", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  expect((await act(first, "second", "drain")).json).toMatchObject({ state: "DRAINED", pods: 0 });
  await act(first, "second", "drain");
  await first.pass(2);
  await second.create();
  await first.pass(2);
  expect([first.running().length, second.running().length]).toEqual([1, 0]);
  const refused = await second.call("POST", "/v2/pods", { body: CPU_POD });
  expect(refused.status).toBe(400);
  expect((await act(second, "second", "undrain")).json).toMatchObject({ state: "UP", drainingSince: null });
  await second.create();
  const { entries } = (await first.call("GET", "/v2/account/audit?operation=machineAction")).json;
  expect(entries.map((entry: { action: string }) => entry.action)).toEqual(["undrain", "drain", "drain"]);
});

test("Pods that give way are stopped, and the others say why they stay", async () => {
  await using nodes = await setupPodNodes();
  const { first, second } = nodes;
  const { id } = await first.create();
  const other = await first.create();
  await first.pass(2);
  const [here] = sidesOf(nodes, id);
  const machine = here === first ? "first" : "second";
  const answer = (await act(second, machine, "drain")).json;
  expect(answer).toMatchObject({ state: "DRAINING", instances: [{ owner: id, stays: expect.any(String) }] });
  expect(answer.instances[0].stays).toContain("its owner did not make it interruptible");
  await first.pass(3);
  expect((await first.pod(id)).status).toBe("RUNNING");
  await first.services.podRecords.change(id, () => ({ set: { interruptible: true } }));
  await first.pass(3);
  expect(await first.pod(id)).toMatchObject({
    ...{ status: "EXITED", statusReason: `interrupted: machine ${machine} is being drained` },
  });
  expect((await machineOf(second, machine)).state).toBe("DRAINED");
  // A Pod that stores nothing on the machine starts on another one once there is room.
  await first.call("DELETE", `/v2/pods/${other.id}`);
  await first.pass(2);
  await first.act(id, "start");
  await first.pass(3);
  expect(await first.pod(id)).toMatchObject({ status: "RUNNING" });
  expect(here.running()).toEqual([]);
});

test("workers end after their jobs, and are replaced on another machine", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const small = { capacity: { vcpu: 2 } };
  const endpoint = { workers: { min: 1, max: 2 } };
  await using first = await setupFleet({ signals, endpoint, machine: { ...small, name: "first" } });
  await using second = await setupFleet({
    ...{ signals, store: first.store, found: first, endpoint: first.endpoint },
    machine: { ...small, name: "second" },
  });
  await first.pass(6);
  const job = await first.submit();
  const [worker] = first.running();
  expect((await worker!.take())?.id).toBe(job);
  await act(second, "first", "drain");
  await first.pass(2);
  expect(second.running()).toHaveLength(1);
  expect(await machineOf(second, "first")).toMatchObject({
    ...{
      state: "DRAINING",
      workers: 1,
      instances: [{ id: worker!.id, stays: "it ends when it has done the jobs it has" }],
    },
  });
  await worker!.done(job);
  await first.pass(3);
  expect(await machineOf(second, "first")).toMatchObject({ state: "DRAINED", workers: 0 });
  expect(first.running()).toEqual([]);
});
