/** Volumes as folders: what a crash leaves behind, and how often their sizes are counted. */
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { VolumeFolders } from "./volume-folders.ts";

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-volumes-"));
  const clock = new FakeClock();
  const open = () => new VolumeFolders({ folder, clock, random: new SeededRandom(1) });
  return {
    folder,
    clock,
    open,
    volumes: open(),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const write = (folder: string, bytes: number) => writeFile(join(folder, "file"), Buffer.alloc(bytes, 1));

test("every program may write to a volume, and nobody walks to it from outside", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: 1 });
  expect((await stat(join(world.folder, "v"))).mode & 0o777).toBe(0o777);
  expect((await stat(join(world.folder, ".records"))).mode & 0o777).toBe(0o700);
});

test("a folder without a record is no volume, and is not made one by a mount", async () => {
  await using world = await setup();
  await mkdir(join(world.folder, "stray"));
  expect(await world.volumes.list()).toEqual([]);
  await expect(world.volumes.mounted([{ volume: "stray", path: "/workspace" }])).rejects.toThrow(
    "volume stray is not on this machine",
  );
});

test("a creation that was broken off is made whole by the next", async () => {
  await using world = await setup();
  await mkdir(join(world.folder, "v"));
  await world.volumes.create({ id: "v", sizeGb: 3 });
  expect(await world.volumes.list()).toEqual([{ id: "v", sizeGb: 3, sizeEnforced: false }]);
});

test("a removal that was broken off anywhere is ended by the next, or by the next server", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: 1 });
  await write(join(world.folder, "v"), 10);
  await rm(join(world.folder, ".records", "v"));
  await world.volumes.remove("v");
  await mkdir(join(world.folder, ".removed-w"));
  await writeFile(join(world.folder, ".records", "w.abc.new"), "");
  await world.open().sweep();
  expect(await readdir(world.folder)).toEqual([".records"]);
  expect(await readdir(join(world.folder, ".records"))).toEqual([]);
});

test("a name that leads elsewhere removes nothing there", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: 1 });
  await writeFile(join(world.folder, "beside"), "kept");
  for (const id of ["../beside", "../v", ".", ""]) await world.volumes.remove(id);
  expect((await readdir(world.folder)).sort()).toEqual([".records", "beside", "v"]);
  expect(await world.volumes.list()).toHaveLength(1);
});

test("one that is used from the moment of its removal on stays as it was", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: 5 });
  let asked = 0;
  world.volumes.users.toldBy(async () => (++asked === 1 ? [] : ["late"]));
  await expect(world.volumes.remove("v")).rejects.toThrow("volume v is mounted by late");
  expect(await world.volumes.list()).toEqual([{ id: "v", sizeGb: 5, sizeEnforced: false }]);
});

test("links in a volume are neither counted nor followed when it is removed", async () => {
  await using world = await setup();
  const outside = join(world.folder, "outside");
  await mkdir(outside);
  await write(outside, 1_000_000);
  await world.volumes.create({ id: "v", sizeGb: 1 });
  await symlink(outside, join(world.folder, "v", "link"));
  expect((await world.volumes.usage("v")).usedBytes).toBeLessThan(100_000);
  await world.volumes.remove("v");
  expect((await stat(join(outside, "file"))).size).toBe(1_000_000);
});

test("many who ask at once share a count, which is good for some seconds", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: 1 });
  const used = async () => (await world.volumes.usage("v")).usedBytes!;
  const [first] = await Promise.all(Array.from({ length: 20 }, used));
  await write(join(world.folder, "v"), 1_000_000);
  await world.clock.advance(9_999);
  expect(await used()).toBe(first);
  await world.clock.advance(1);
  expect(await used()).toBeGreaterThanOrEqual(1_000_000);
});

test("one on shared storage is the same for every machine that has it, and its size is nobody's to enforce", async () => {
  await using here = await setup();
  await using there = await setup();
  const shared = join(here.folder, "shared");
  const [first, second] = [here, there].map(
    ({ folder, clock }) => new VolumeFolders({ folder, shared, clock, random: new SeededRandom(1) }),
  );
  const unmounted = first!.create({ id: "v", sizeGb: 3, shared: true });
  await expect(unmounted).rejects.toThrow(`${shared}, which MILLRACE_VOLUMES names, is not there: mount its storage`);
  await expect(stat(shared)).rejects.toThrow("ENOENT");
  await mkdir(shared);
  await Promise.all([first, second].map((volumes) => volumes!.create({ id: "v", sizeGb: 3, shared: true })));
  const found = { id: "v", sizeGb: 3, shared: true, sizeEnforced: false };
  expect([await first!.find("v"), await second!.list()]).toEqual([found, [found]]);
  const [mounted] = await second!.mounted([{ volume: "v", path: "/workspace" }]);
  expect(mounted).toEqual({ source: join(shared, "v"), path: "/workspace" });
  await first!.grow("v", 4);
  expect(await second!.usage("v")).toMatchObject({ sizeGb: 4 });
  await second!.remove("v");
  expect([await first!.list(), await readdir(shared)]).toEqual([[], [".records"]]);
});
