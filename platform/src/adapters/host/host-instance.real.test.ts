/** An instance of the host driver whose own files are wrong or incomplete. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock } from "../../kernel/clock.ts";
import { newId, specOf } from "../../ports/compute/conformance-world.ts";
import { HostInstance } from "./host-instance.ts";
import { openHost } from "./host-world.ts";
import { InstanceFolder, keptFrom } from "./instance-folder.ts";

test("one of which a full disk kept who launched it is ended all the same", async () => {
  await using world = await openHost();
  const id = newId();
  const folder = new InstanceFolder(join(world.data, "instances", id));
  const kept = keptFrom(specOf(world, []), realClock.now(), { segment: 1024, gpus: [] });
  await folder.make(kept, []);
  await writeFile(join(folder.path, "identity"), "");
  const parts = { clock: realClock, cgroups: undefined, sandboxed: false, changed: () => {}, failed: () => {} };
  const instance = new HostInstance(id, folder, kept, parts);
  await instance.follow(undefined);
  await instance.kill();
  expect(instance.view()).toMatchObject({ state: "exited", exit: { reason: expect.stringContaining("not seen") } });
});
