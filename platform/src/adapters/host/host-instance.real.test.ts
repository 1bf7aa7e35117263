/** An instance of the host driver whose own files are wrong or incomplete. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock } from "../../kernel/clock.ts";
import { ended, linesOf, newId, specOf } from "../../ports/compute/conformance-world.ts";
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

test("one that lost the process above it is still found, measured, entered and ended", async ({ skip }) => {
  await using world = await openHost();
  const { compute } = world;
  const { sandbox, limits } = compute.facts;
  skip(!sandbox || !limits, "without a sandbox and control groups, the program is found only below its launcher");
  const id = newId();
  await compute.start(id, specOf(world, [{ write: "ready\n" }, { stayUntilAsked: 0 }]));
  await linesOf(compute, id, { limit: 1 });
  const launcher = (await readFile(join(world.data, "instances", id, "identity"), "utf8")).split(" ")[0];
  const children = (await readFile(`/proc/${launcher}/task/${launcher}/children`, "utf8")).trim().split(" ");
  const commands = await Promise.all(children.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8")));
  process.kill(Number(children.find((_, index) => commands[index]!.includes("launch.sh"))), "SIGKILL");

  expect(await compute.stats!.of(id)).toMatchObject({ memoryBytes: expect.any(Number) });
  const entered = await compute.exec!.run(id, { cmd: ["true"] });
  expect(await entered.exit).toMatchObject({ code: 0 });
  await compute.stop(id, 5000);
  expect(await ended(compute, id)).toBeDefined();
  await compute.remove(id);
});
