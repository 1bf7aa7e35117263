/** What happens when an instance's state cannot be read. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
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
