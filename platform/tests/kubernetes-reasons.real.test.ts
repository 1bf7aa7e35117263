/** What the driver says when a real cluster takes an instance away, or does not let it begin. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { podName } from "../src/adapters/kubernetes/kube-objects.ts";
import type { KubernetesOptions } from "../src/adapters/kubernetes/kubernetes-compute.ts";
import { stay } from "../src/kernel/clock.ts";
import { type Instance, type InstanceSpec, PlaceGone } from "../src/ports/compute/compute.ts";
import { newId, type Step, seen } from "../src/ports/compute/conformance-world.ts";
import { kubernetesProgram, NAMESPACE, openApi, openDriver } from "./kubernetes-world.ts";

const CLUSTER = fileURLToPath(new URL("../../scripts/kubernetes/cluster.sh", import.meta.url));
const cluster = (...args: string[]) => promisify(execFile)(CLUSTER, args);

let made = 0;

async function setup(more: Partial<KubernetesOptions> = {}) {
  const installation = `reasons-${process.pid}-${++made}`;
  const compute = await openDriver(installation, more);
  const api = openApi();
  onTestFinished(async () => {
    await Promise.all((await compute.list()).map(({ id }) => compute.remove(id)));
    await compute[Symbol.asyncDispose]();
    api[Symbol.dispose]();
  });
  const spec = (steps: readonly Step[], extra: Partial<InstanceSpec> = {}): InstanceSpec => ({
    kind: "worker",
    account: "account",
    owner: "endpoint",
    ...kubernetesProgram(steps),
    env: {},
    limits: { vcpu: 1, memoryMb: 128, diskGb: 1 },
    ports: [],
    ...extra,
  });
  const is = (id: string, state: Instance["state"]) => seen(compute, id, (one) => one.state === state);
  return {
    compute,
    api,
    spec,
    is,
    async running(extra: Partial<InstanceSpec> = {}) {
      const id = newId();
      await compute.start(id, spec([{ stayUntilAsked: 0 }], extra));
      await is(id, "running");
      return id;
    },
  };
}

const pods = (namespace = NAMESPACE) => `/api/v1/namespaces/${namespace}/pods`;

test("a Pod that somebody deletes ends with its exit, which stays to be read", async () => {
  const { compute, api, is, running } = await setup();
  const id = await running();
  await api.call("DELETE", `${pods()}/${podName(id)}`);
  expect((await is(id, "exited")).exit).toMatchObject({ code: 0, cause: "ended-outside" });
  expect((await compute.list()).map((one) => one.state)).toEqual(["exited"]);
});

test("an evicted Pod has lost its place, and says that its node is being drained", async () => {
  const { api, is, running } = await setup();
  const id = await running();
  const metadata = { name: podName(id), namespace: NAMESPACE };
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata };
  await api.call("POST", `${pods()}/${podName(id)}/eviction`, { body });
  const { exit } = await is(id, "exited");
  expect(exit).toMatchObject({ isLost: true, reason: expect.stringContaining("its node is being drained") });
});

test("a start on a node that was cordoned a moment ago is refused at once, so that it is placed elsewhere", async () => {
  const { compute, api, spec } = await setup();
  const cordon = (unschedulable: boolean) =>
    api.call("PATCH", "/api/v1/nodes/node-b", { body: { spec: { unschedulable } } });
  await cordon(true);
  try {
    while ((await compute.capacity()).length > 1) await stay(50);
    const refusal = await compute.start(newId(), spec([], { box: "node-b" })).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(PlaceGone);
    expect(refusal).toMatchObject({ message: "node node-b takes no new Pods: it is cordoned" });
  } finally {
    await cordon(false);
  }
});

test("a node that no longer answers loses its Pods, and they are removed without it", async () => {
  const { compute, is, running } = await setup({ lostS: 2 });
  const id = await running({ box: "node-b" });
  await cluster("lose", "b");
  try {
    const { exit } = await is(id, "exited");
    expect(exit).toMatchObject({ code: null, isLost: true, reason: expect.stringContaining("its node was lost") });
    expect((await compute.capacity()).map((box) => box.id)).toEqual(["node-a"]);
    await compute.remove(id);
    expect(await compute.list()).toEqual([]);
  } finally {
    await cluster("find", "b");
  }
});

test("a quota that refuses an instance is the reason, and nothing of it remains", async () => {
  const namespace = `reasons-quota-${process.pid}`;
  const { compute, api, spec } = await setup({ namespace });
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" }, spec: { hard: { pods: "0" } } };
  await api.call("POST", `/api/v1/namespaces/${namespace}/resourcequotas`, { body: quota });
  let refusal: unknown;
  // The quota counts once its controller has looked at the namespace.
  while (refusal === undefined) {
    const id = newId();
    refusal = await compute.start(id, spec([])).then(
      () => compute.remove(id),
      (error: unknown) => error,
    );
  }
  expect(refusal).toMatchObject({ reason: "quota-refused", message: expect.stringContaining("exceeded quota: none") });
  await api.call("DELETE", `/api/v1/namespaces/${namespace}`);
});

test("an instance that no node has room for waits, in the scheduler's words", async () => {
  const { compute, is, spec } = await setup();
  const id = newId();
  await compute.start(id, spec([], { limits: { vcpu: 1, memoryMb: 900_000, diskGb: 1 } }));
  const waits = await seen(compute, id, ({ waitsFor }) => waitsFor !== undefined);
  expect(waits).toMatchObject({
    state: "pending",
    waitsFor: expect.stringMatching(/no node has room.*Insufficient memory/),
  });
  await compute.stop(id, 1_000);
  expect((await is(id, "refused")).refusal?.message).toBe("it was stopped before it began");
});

test("a program that writes more than its disk holds is ended for that", async () => {
  const { compute, is, spec } = await setup();
  const id = newId();
  const limits = { vcpu: 1, memoryMb: 256, diskGb: 0.02 };
  await compute.start(id, spec([{ fillMb: 64, in: "/large" }, { stayUntilAsked: 0 }], { limits }));
  expect((await is(id, "exited")).exit).toMatchObject({ cause: "filled-disk", isFinal: true });
});
