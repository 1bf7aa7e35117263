/** Pods with global networking reach each other by name within an account, and nobody else reaches them. */
import { expect, test } from "vitest";
import { GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../../tests/pod-world.ts";
import type { FakeInstance } from "../../../ports/compute/fake-instance.ts";

const LISTENS = { ...TWO_GPUS, behaviour: (instance: FakeInstance) => instance.listen(7000, () => {}) };
const MACHINE = {
  ...LISTENS,
  capacity: { ...TWO_GPUS.capacity, gpus: [{ type: "NVIDIA A40", count: 8, virtual: true }] },
};
const CONNECTED = { ...GPU_POD, globalNetworking: true };

const programOf = (world: PodWorld, pod: string) => world.running().find(({ spec }) => spec.owner === pod)!;

test("by both full names, by the id and by the address, on any port", async () => {
  await using world = await setupPods({ machine: MACHINE });
  const [first, second] = [await world.create(CONNECTED), await world.create(CONNECTED)];
  const { globalNetworking } = await world.pod(second.id);
  expect(globalNetworking).toEqual({
    enabled: true,
    ip: expect.stringMatching(/^10\./),
    internalDns: `${second.id}.runpod.internal`,
  });
  const from = programOf(world, first.id);
  const names = [second.id, `${second.id}.runpod.internal`, `${second.id}.millrace.internal`, globalNetworking.ip];
  expect(names.map((name) => world.compute.reaches(from, name, 7000))).toEqual([true, true, true, true]);
});

test("those that do not ask, and those of other accounts, neither reach nor are reached", async () => {
  await using world = await setupPods({ machine: MACHINE });
  const connected = await world.create(CONNECTED);
  const alone = await world.create(GPU_POD);
  expect((await world.pod(alone.id)).globalNetworking).toEqual({ enabled: false });
  const { json: strange } = await world.call("POST", "/v2/pods", { body: CONNECTED, key: await world.strangersKey() });
  await world.settle();
  const [mine, others] = [programOf(world, connected.id), programOf(world, strange.id)];
  for (const [from, to] of [
    [programOf(world, alone.id), connected.id],
    [mine, alone.id],
    [others, connected.id],
    [mine, strange.id],
  ] as const)
    expect(world.compute.reaches(from, `${to}.runpod.internal`, 7000)).toBe(false);
});

test("a change is true from the boot on that it brings", async () => {
  await using world = await setupPods({ machine: MACHINE });
  const { id } = await world.create(GPU_POD);
  await world.change(id, { globalNetworking: true });
  expect((await world.pod(id)).globalNetworking).toMatchObject({ enabled: true, ip: expect.any(String) });
  await world.act(id, "stop");
  expect((await world.pod(id)).globalNetworking).toEqual({ enabled: true, internalDns: `${id}.runpod.internal` });
});

test("a CPU Pod cannot have it, and none can where nothing keeps networks apart", async () => {
  await using world = await setupPods({ machine: { ...MACHINE, can: { networks: false } } });
  const create = async (body: object) => {
    const { status, json } = await world.call("POST", "/v2/pods", { body });
    return [status, json.detail];
  };
  const { gpu: _, ...cpu } = { ...CONNECTED, cpu: { id: "cpu3c", vcpuCount: 2 } };
  expect(await create(cpu)).toEqual([400, "'globalNetworking' goes with GPU Pods: a CPU Pod cannot have it."]);
  expect(await create(CONNECTED)).toEqual([
    400,
    "No capacity: needs a machine that gives Pods a network of their own, for `globalNetworking` and for clusters.",
  ]);
});
