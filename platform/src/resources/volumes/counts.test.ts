/** How much network volumes hold: when it is counted, and what is shown of it. */
import { expect, test, vi } from "vitest";
import { openFakeMachine } from "../../../tests/fake-machine.ts";
import { idle } from "../../../tests/idle.ts";
import { setup as setupWorld } from "../../../tests/world.ts";
import type { FakeCompute } from "../../ports/compute/fake-compute.ts";
import type { FakeVolumes } from "../../ports/compute/fake-volumes.ts";

const VOLUMES = "/v2/network-volumes";
const MODELS = { name: "models", size: 50, dataCenter: "EU-RO-1" };
const NOT_YET = "It has not been counted yet.";
const MINUTE = 60_000;

async function setup() {
  let compute!: FakeCompute;
  const world = await setupWorld({
    compute: (clock) => {
      compute = openFakeMachine(clock);
      return compute;
    },
  });
  const { id } = (await world.call("POST", VOLUMES, { body: MODELS })).json;
  const used = async () => {
    const { usedBytes, usedReason } = (await world.call("GET", `${VOLUMES}/${id}`)).json;
    return usedBytes ?? usedReason;
  };
  const pass = async (minutes: number) => {
    for (let i = 0; i < minutes; i++) {
      await world.clock.advance(MINUTE);
      await idle();
    }
  };
  const storage = compute.volumes as FakeVolumes;
  return { world, id, used, pass, storage, counts: vi.spyOn(storage, "usage") };
}

test("a volume is counted within a minute, and shown in the list and in the record", async () => {
  const s = await setup();
  await using _ = s.world;
  expect(await s.used()).toBe(NOT_YET);
  s.storage.write(s.id, "model.bin", "x".repeat(500));
  await s.pass(1);
  expect(await s.used()).toBe(500);
  const [listed] = (await s.world.call("GET", VOLUMES)).json.networkVolumes;
  expect([listed.usedBytes, listed.usedReason]).toEqual([500, null]);
});

test("a volume is not counted by lists, and once an hour while nothing has it mounted", async () => {
  const s = await setup();
  await using _ = s.world;
  await s.pass(1);
  s.storage.write(s.id, "model.bin", "x");
  for (let i = 0; i < 10; i++) await s.world.call("GET", VOLUMES);
  await s.pass(30);
  expect([await s.used(), s.counts.mock.calls.length]).toEqual([0, 1]);
  await s.pass(31);
  expect([await s.used(), s.counts.mock.calls.length]).toEqual([1, 2]);
});

test("a volume is counted every five minutes while a program has it mounted, and once more afterwards", async () => {
  const s = await setup();
  await using _ = s.world;
  const body = {
    name: "a",
    image: "busybox",
    cpu: { id: "cpu3c", vcpuCount: 2 },
    mounts: { network: [{ volumeId: s.id, path: "/data" }] },
  };
  const pod = await s.world.call("POST", "/v2/pods", { body });
  expect(pod.status).toBe(201);
  await s.pass(6);
  s.counts.mockClear();
  await s.pass(10);
  expect(s.counts).toHaveBeenCalledTimes(2);
  s.storage.write(s.id, "last", "12345");
  await s.world.call("DELETE", `/v2/pods/${pod.json.id}`);
  await s.pass(2);
  expect(await s.used()).toBe(5);
});

test("a volume is unknown with the reason where there is too much to count, and counted seldom where that takes long", async () => {
  const s = await setup();
  await using _ = s.world;
  const { clock } = s.world;
  s.counts.mockImplementation(() => new Promise((resolve) => clock.after(100 * MINUTE, () => resolve({ sizeGb: 50 }))));
  await s.pass(102);
  expect(await s.used()).toBe("It has too many files to count them in time.");
  await s.pass(300);
  expect(s.counts).toHaveBeenCalledTimes(1);
});

test("the count goes with the volume", async () => {
  const s = await setup();
  await using _ = s.world;
  await s.pass(1);
  expect(await s.world.store.get("network-volume-use", s.id)).toBeDefined();
  await s.world.call("DELETE", `${VOLUMES}/${s.id}`);
  expect(await s.world.store.get("network-volume-use", s.id)).toBeUndefined();
});
