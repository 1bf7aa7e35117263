/** How an instance is looked at: when its state cannot be read, and how often. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { type Identity, identityOf } from "../machine/processes.ts";
import { HostInstance, type InstanceParts } from "./host-instance.ts";
import type { InstanceFolder, KeptInstance } from "./instance-folder.ts";

const NOBODY = { pid: 2 ** 31 - 1, startTime: "1" };

test("an end that could not be looked at is looked at again", async () => {
  const told: string[] = [];
  let failures = 1;
  const exit = async () => ({ code: 3, at: 0 });
  const kill = async () => {
    if (failures-- > 0) throw new Error("no descriptor is free");
  };
  const instance = new HostInstance(
    "one",
    { path: "/nowhere", exit } as unknown as InstanceFolder,
    { gpus: [] } as unknown as KeptInstance,
    {
      clock: new FakeClock(),
      cgroups: { isFrozen: async () => false, kill } as unknown as NonNullable<InstanceParts["cgroups"]>,
      sandboxed: true,
      changed: (one) => told.push(one.view().state),
      failed: () => {},
    },
  );
  await expect(instance.follow(NOBODY)).rejects.toThrow("no descriptor");
  await instance.look();
  expect(told).toEqual(["exited"]);
});

/** An instance whose program ends when a test says so. */
async function followed(launcher: Identity) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-instance-"));
  const world = { exit: undefined as object | undefined, looks: 0 };
  const exit = async () => {
    world.looks++;
    return world.exit;
  };
  const instance = new HostInstance(
    "one",
    { path: folder, exit, identity: async () => launcher } as unknown as InstanceFolder,
    { gpus: [] } as unknown as KeptInstance,
    {
      clock: new FakeClock(),
      cgroups: { isFrozen: async () => false, kill: async () => {}, outOfMemory: async () => 0 } as never,
      sandboxed: true,
      changed: () => {},
      failed: () => {},
    },
  );
  return Object.assign(world, {
    instance,
    async [Symbol.asyncDispose]() {
      instance.letGo();
      await rm(folder, { recursive: true });
    },
  });
}

test("regular looks at a running program leave most to events, and find an end that no event told", async () => {
  await using world = await followed((await identityOf(process.pid))!);
  await world.instance.follow((await identityOf(process.pid))!);
  const before = world.looks;
  for (let n = 0; n < 5; n++) await world.instance.lookAgain();
  expect(world.looks - before).toBe(1);
});

test("a regular look finds at once that the launcher was killed", async () => {
  const launcher = (await identityOf(process.pid))!;
  await using world = await followed(launcher);
  const { instance } = world;
  await instance.follow(launcher);
  await instance.lookAgain();
  world.exit = { code: null, signal: "SIGKILL", at: 0 };
  launcher.startTime = "1";
  await instance.lookAgain();
  expect(instance.isEnded).toBe(true);
});
