/** Pods on a silent machine: what is shown of them, what happens to actions on them, and what is charged. */
import { expect, test } from "vitest";
import { setupPodNodes, sidesOf } from "../../../../tests/pod-nodes.ts";
import { CPU_POD, type PodWorld } from "../../../../tests/pod-world.ts";

const SILENT_S = 15;

/** A Pod on a machine whose node dies, and the node that is left. */
async function withLostPod(body: object = CPU_POD) {
  const nodes = await setupPodNodes();
  const { id } = await nodes.first.create(body);
  await nodes.first.pass(6);
  const [here, there] = sidesOf(nodes, id);
  const { doc } = (await there.services.podRecords.pods.get(id))!;
  expect(await there.pod(id)).toMatchObject({ status: "RUNNING", statusReason: null });
  const heardAt = async () => (await there.app.machines.lastSeen(doc.last!.machine))!;
  return { here, there, id, machine: doc.last!.machine, heardAt };
}

type Lost = Awaited<ReturnType<typeof withLostPod>>;

const silenceText = async ({ machine, heardAt }: Lost) =>
  `machine ${machine}, which has been silent since ${new Date(await heardAt()).toISOString()}`;

const spansOf = async (world: PodWorld, id: string) =>
  (await world.store.list({ kind: "span", limit: 100 }))
    .map(({ doc }) => doc as { owner: string; from: number; to: number | null; instance: string })
    .filter(({ owner, instance }) => owner === id && instance !== id)
    .toSorted((a, b) => a.from - b.from)
    .map(({ from, to }) => ({ from, to }));

const podOf = (doc: object) => expect.objectContaining(doc);

test("within 15 s it says so, with the time, on every surface, and does not claim to run", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await here.abandon();
  await there.pass(SILENT_S);
  const reason = `it is on ${await silenceText(lost)}, and may still be running there`;
  expect(await there.pod(id)).toMatchObject({
    ...{ status: "STARTING", statusReason: reason, runtime: null, cost: 0 },
    actions: ["stop", "restart", "terminate"],
  });
  expect((await there.call("GET", "/v2/pods")).json.pods).toEqual([podOf({ id, statusReason: reason })]);
  const v1 = (await there.call("GET", `/v1/pods/${id}`)).json;
  expect(v1).toMatchObject({ desiredStatus: "RUNNING", costPerHr: 0 });
  expect(v1.lastStatusChange).toMatch(new RegExp(`^Rented by User: .* \\(${reason.replaceAll(".", "\\.")}\\)$`));
  const query = `{ pod(input: { podId: "${id}" }) { desiredStatus lastStatusChange runtime { uptimeInSeconds } } }`;
  const { pod } = (await there.call("POST", "/graphql", { body: { query } })).json.data;
  expect(pod).toEqual({ desiredStatus: "RUNNING", lastStatusChange: v1.lastStatusChange, runtime: null });
  await there[Symbol.asyncDispose]();
});

test("it runs again, without a reason, as soon as its machine is heard of", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await using back = await here.crash({ meanwhile: () => there.pass(SILENT_S) });
  await there.pass(2);
  for (const world of [there, back])
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING", statusReason: null });
  await there[Symbol.asyncDispose]();
});

test("a stop is a wish: it is not EXITED before its machine has ended it", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  const waits = async () => `stopped by its owner; waits for ${await silenceText(lost)}, to end what runs of it there`;
  await using back = await here.crash({
    async meanwhile() {
      await there.pass(SILENT_S);
      const { status, json } = await there.act(id, "stop");
      expect([status, json.status, json.statusReason]).toEqual([200, "STARTING", await waits()]);
      await there.pass(60);
      expect(await there.pod(id)).toMatchObject({ status: "STARTING", statusReason: await waits() });
      expect((await there.call("GET", `/v1/pods/${id}`)).json.lastStatusChange).toContain(await waits());
    },
  });
  await there.pass(3);
  expect(await there.pod(id)).toMatchObject({ status: "EXITED", statusReason: "stopped by its owner" });
  expect(back.running()).toEqual([]);
  await there[Symbol.asyncDispose]();
});

test("one that was stopped in the seconds before its machine was missed says so too", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await here.abandon();
  await there.act(id, "stop");
  await there.pass(SILENT_S);
  expect((await there.pod(id)).status).toBe("STARTING");
  expect((await there.pod(id)).statusReason).toContain("stopped by its owner; waits for machine");
  await there[Symbol.asyncDispose]();
});

test("a restart, and a start after a stop, say what they wait for", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await here.abandon();
  await there.pass(SILENT_S);
  const silence = await silenceText(lost);
  expect((await there.act(id, "restart")).json).toMatchObject({
    status: "STARTING",
    statusReason: `restarts: its owner asked for it; waits for ${silence}`,
    statusReasonCode: "machine-silent",
  });
  await there.act(id, "stop");
  expect((await there.act(id, "start")).json).toMatchObject({
    status: "PROVISIONING",
    statusReason: `its previous program is still ending; waits for ${silence}, to end what runs of it there`,
  });
  await there[Symbol.asyncDispose]();
});

test("one that is deleted is gone at once, and its program ends when the machine is back", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await using back = await here.crash({
    async meanwhile() {
      await there.pass(SILENT_S);
      expect((await there.call("DELETE", `/v2/pods/${id}`)).status).toBe(204);
      expect((await there.call("GET", `/v2/pods/${id}`)).status).toBe(404);
    },
  });
  await there.pass(3);
  expect(back.running()).toEqual([]);
  expect(await there.services.podRecords.instancesOf(id)).toEqual([]);
  await there[Symbol.asyncDispose]();
});

test("nothing is paid from the last word of its machine until it is heard of again", async () => {
  const lost = await withLostPod();
  const { here, there, id, heardAt } = lost;
  const [first] = await spansOf(there, id);
  await using back = await here.crash({ meanwhile: () => there.pass(100) });
  const saidAt = await heardAt();
  await there.pass(3);
  const [before, after, ...more] = await spansOf(there, id);
  expect(more).toEqual([]);
  expect(before!.from).toBe(first!.from);
  expect(before!.to).toBeLessThan(saidAt - 90_000);
  expect(after).toEqual({ from: expect.any(Number), to: null });
  expect(after!.from).toBeGreaterThanOrEqual(saidAt);
  expect(back.running()).toHaveLength(1);
  await there[Symbol.asyncDispose]();
});

test("when its machine comes back without it, it is started again, and paid for from then on", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await using back = await here.crash({ rebooted: "nothing left" });
  const backAt = back.clock.now();
  await there.pass(3);
  expect(await there.pod(id)).toMatchObject({ status: "RUNNING" });
  const spans = await spansOf(there, id);
  expect(spans.at(-1)).toEqual({ from: expect.any(Number), to: null });
  expect(spans.at(-1)!.from).toBeGreaterThanOrEqual(backAt);
  const paid = spans.slice(0, -1).reduce((sum, { from, to }) => sum + to! - from, 0);
  expect(paid).toBeLessThan(15_000);
  await there[Symbol.asyncDispose]();
});

test("what cannot be told to end is not counted against the account, and gives its place to nobody", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await here.abandon();
  await there.pass(SILENT_S);
  await there.call("DELETE", `/v2/pods/${id}`);
  await there.pass(1);
  const { gpus, vcpu } = (await import("../../../machines/held.ts")).heldBy(await there.services.instanceRecords.all());
  expect({ gpus, vcpu }).toEqual({ gpus: 0, vcpu: 0 });
  // The machine that is not silent has one free place.
  await there.create();
  expect((await there.call("POST", "/v2/pods", { body: CPU_POD })).status).toBe(400);
  await there[Symbol.asyncDispose]();
});

test("a node that begins knows at once of machines that have been silent for long", async () => {
  const lost = await withLostPod();
  const { here, there, id } = lost;
  await here.abandon();
  await using again = await there.crash({ meanwhile: () => there.clock.advance(120_000) });
  await again.pass(1);
  expect(await again.pod(id)).toMatchObject({ status: "STARTING" });
});
