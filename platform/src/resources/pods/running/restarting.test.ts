/** What happens to a Pod whose owner asks for something while its program ends. */
import { expect, test } from "vitest";
import { setupPods } from "../../../../tests/pod-world.ts";
import { InterceptedStore } from "../../../../tests/world.ts";
import type { Caller } from "../../../kernel/caller.ts";
import { problem } from "../../../kernel/problem.ts";
import type { KeptSpan } from "../../../metering/span.ts";
import { DriverAway } from "../../../ports/compute/refusal.ts";
import { MemoryStore } from "../../../ports/store/memory-store.ts";
import type { Write } from "../../../ports/store/store.ts";

/** Runs `act` once, right before the first commit that moves an instance to this state. */
function before(store: InterceptedStore, state: string, act: () => Promise<unknown>): void {
  const isIt = (write: Write) => write.do === "patch" && write.kind === "instance" && write.set.state === state;
  store.beforeCommit = async (writes) => {
    if (!writes.some(isIt)) return;
    store.beforeCommit = () => {};
    await act();
  };
}

async function runningPod() {
  const store = new InterceptedStore();
  const world = await setupPods({ store });
  const pod = await world.create();
  const caller: Caller = { account: world.owner.account, user: "user", key: "key", grants: ["all"], exempt: true };
  return { store, world, pod: pod.id as string, caller };
}

test("a restart that comes while a crash is recorded restarts the Pod, and no duty fails", async () => {
  const { store, world, pod, caller } = await runningPod();
  await using _ = world;
  before(store, "CRASHED", () => world.services.pods.act(caller, pod, "restart"));
  world.running()[0]!.exit({ code: 1 });
  await world.pass(3);
  expect((await world.pod(pod)).status).toBe("RUNNING");
  expect(world.logged.filter((line) => line.includes("the duty"))).toEqual([]);
});

test("a restart of somebody who read the Pod just before it ended, and its instance just after, is refused with the reason", async () => {
  const { store, world, pod, caller } = await runningPod();
  await using _ = world;
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  const get = store.get.bind(store);
  store.get = async (kind, id) => {
    if (kind !== "pod") return get(kind, id);
    store.get = get;
    const record = await get(kind, id);
    await isRead;
    return record;
  };
  const restart = world.services.pods.act(caller, pod, "restart");
  await world.services.pods.act(caller, pod, "stop");
  read();
  await expect(restart).rejects.toMatchObject({ code: "wrong-state", detail: "cannot restart while EXITED" });
});

test("a Pod that is deleted while it restarts is billed until its program ended", async () => {
  const { store, world, pod, caller } = await runningPod();
  await using _ = world;
  await world.pass(10);
  before(store, "PLACED", async () => {
    world.clock.jump(60_000);
    await world.services.pods.remove(caller, pod);
  });
  const endedAt = world.clock.now();
  await world.act(pod, "restart");
  await world.pass(1);
  const spans = await store.list({ kind: "span", limit: 100 });
  const running = spans.map(({ doc }) => doc as unknown as KeptSpan).filter(({ phase }) => phase === "running");
  expect(running.map(({ to }) => to)).toEqual([endedAt]);
});

test("a Pod whose machine lost power before its start was recorded is started again, once", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const forgetStart = async () => {
    const [instance] = await world.store.list({ kind: "instance", limit: 1 });
    const set = { state: "PLACED", startedAt: null };
    await world.store.commit([{ do: "patch", kind: "instance", id: instance!.id, set }]);
  };
  await using next = await world.crash({ rebooted: "all ended", meanwhile: forgetStart });
  await next.pass(2);
  expect((await next.pod(id)).status).toBe("RUNNING");
  expect(next.running()).toHaveLength(1);
  expect((await next.log(id)).filter((line) => line.startsWith("[starting again"))).toHaveLength(1);
});

test("a program that another node has started again is not started over and over until that is read", async () => {
  const { store, world, pod } = await runningPod();
  await using _ = world;
  world.running()[0]!.exit({ code: 1 });
  await world.settle();
  const [instance] = await store.list({ kind: "instance", limit: 1 });
  let tries = 0;
  store.beforeCommit = async (writes) => {
    if (!writes.some((write) => write.do === "insert" && write.record.kind === "pod-key")) return;
    if (++tries > 10) throw new Error("it is started over and over");
    if (tries > 1) return;
    const startedAt = world.clock.now();
    await MemoryStore.prototype.commit.call(store, [
      { do: "patch", kind: "instance", id: instance!.id, set: { state: "RUNNING", startedAt } },
      { do: "patch", kind: "pod", id: pod, set: { status: "RUNNING", startedAt } },
    ]);
  };
  await world.pass(3);
  expect([tries, (await world.pod(pod)).status, world.running().length]).toEqual([1, "RUNNING", 1]);
});

test("a Pod whose container engine is away is left alone, and keeps its disk when it is started again after that", async () => {
  const { world, pod } = await runningPod();
  await using _ = world;
  const [program] = world.running();
  world.compute.away = "the container engine does not answer";
  await world.pass(15);
  expect([(await world.pod(pod)).status, program!.exited]).toEqual(["RUNNING", false]);
  program!.exit({ code: 1 });
  await world.pass(5);
  expect(await world.pod(pod)).toMatchObject({ status: "STARTING", statusReasonCode: "engine-away" });
  world.compute.away = undefined;
  await world.pass(3);
  expect((await world.pod(pod)).status).toBe("RUNNING");
  const lines = (await world.log(pod)).filter((line) => /new container disk|machine was away/.test(line));
  expect([lines, world.started.length]).toEqual([[], 1]);
});

test.each(["prepare", "start", "again"] as const)(
  "a Pod whose container engine goes away at its %s waits for the engine, with the reason, and does not end",
  async (verb) => {
    // A cluster prepares images by itself, and says later what came of it.
    await using world = await setupPods({ machine: { isCluster: false } });
    const fail = () => world.compute.fail(verb, new DriverAway("the container engine does not answer"));
    if (verb !== "again") fail();
    const { id } = await world.create();
    if (verb === "again") {
      fail();
      world.running()[0]!.exit({ code: 1 });
    }
    await world.pass(3);
    const { status, statusReasonCode, statusReason } = await world.pod(id);
    expect([status, statusReasonCode]).toEqual([expect.stringMatching(/PROVISIONING|STARTING/), "engine-away"]);
    expect(statusReason).toContain("does not answer");
    await world.pass(120);
    world.compute.fail(verb, undefined);
    await world.pass(3);
    expect((await world.pod(id)).status).toBe("RUNNING");
    expect(world.running()).toHaveLength(1);
  },
);

test("a program that was started again right before its server ended goes on with its key", async () => {
  const { store, world, pod } = await runningPod();
  before(store, "RUNNING", () => new Promise(() => {}));
  world.running()[0]!.exit({ code: 1 });
  await world.pass(3);
  expect((await world.pod(pod)).status).toBe("STARTING");
  await using next = await world.crash();
  await next.pass(2);
  const [program] = next.running();
  const { status, json } = await next.call("GET", `/v2/pods/${pod}`, { key: program!.spec.env.RUNPOD_API_KEY! });
  expect([status, json.status]).toEqual([200, "RUNNING"]);
  expect((await next.log(pod)).filter((line) => line.startsWith("[starting again"))).toHaveLength(1);
});

test.each(["first", "second"])(
  "a database that is away while the %s start is recorded does not end the Pod",
  async (which) => {
    const store = new InterceptedStore();
    await using world = await setupPods({ store });
    const away = async () => {
      throw problem("unavailable", "The database cannot be reached at the moment.");
    };
    if (which === "first") before(store, "RUNNING", away);
    const { id } = await world.create();
    if (which === "second") {
      before(store, "RUNNING", away);
      world.running()[0]!.exit({ code: 1 });
    }
    await world.pass(3);
    const [program] = world.running();
    const { json } = await world.call("GET", `/v2/pods/${id}`, { key: program!.spec.env.RUNPOD_API_KEY! });
    expect(json.status).toBe("RUNNING");
  },
);
