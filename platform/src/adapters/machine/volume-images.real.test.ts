/** Volumes with a file system of their own survive a restart of the machine, a crash and an upgrade. */
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { FakeClock, realClock } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { runTool } from "./forker.ts";
import { VolumeFolders } from "./volume-folders.ts";
import { VolumeImages } from "./volume-images.ts";

const SMALL_GB = 16 / 1024;

const probing = await mkdtemp(join(tmpdir(), "millrace-probe-"));
const probed = await VolumeImages.open(probing);
await rm(probing, { recursive: true });
beforeEach(({ skip }) => skip("cannot" in probed, "cannot" in probed ? probed.cannot : ""));

async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-volumes-"));
  const images = (await VolumeImages.open(folder)) as VolumeImages;
  const open = (more: { images?: VolumeImages } = { images }) =>
    new VolumeFolders({ folder, clock: realClock, random: realRandom, ...more });
  const volumes = open();
  const mounts = async () => {
    const lines = (await readFile("/proc/mounts", "utf8")).split("\n");
    return lines.filter((line) => line.includes(folder)).length;
  };
  const at = async (id: string) => (await volumes.mounted([{ volume: id, path: "/workspace" }]))[0]!.source;
  return {
    folder,
    images,
    volumes,
    open,
    mounts,
    at,
    async [Symbol.asyncDispose]() {
      for (const { id } of await volumes.list()) await volumes.remove(id);
      expect(await mounts()).toBe(0);
      // A program that another test starts at this moment has a copy of the mounts and releases it by itself.
      const backing = () => runTool("losetup", ["--list", "--noheadings", "-O", "BACK-FILE"]);
      await expect.poll(backing, { timeout: 60_000 }).not.toContain(folder);
      await rm(folder, { recursive: true });
    },
  };
}

test("after a restart of the machine it is mounted again by whoever uses it first, with what it held", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: SMALL_GB });
  await writeFile(join(await world.at("v"), "file"), "kept");
  await runTool("umount", [join(world.folder, "v")]);
  const places = await Promise.all([world.at("v"), world.at("v"), world.volumes.folderOf("v")]);
  expect(await world.mounts()).toBe(1);
  expect(await readFile(join(places[0], "file"), "utf8")).toBe("kept");
  expect(await readdir(places[0])).toEqual(["file"]);
});

test("the next process finds it, and what a crash left of one that never was is gone", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: SMALL_GB });
  await world.images.make("unfinished", SMALL_GB);
  await writeFile(join(world.folder, ".images", "draft.new"), "");
  await world.open().sweep();
  expect(await world.images.list()).toEqual(["v"]);
  expect(await world.mounts()).toBe(1);
  expect(await world.open().list()).toEqual([{ id: "v", sizeGb: SMALL_GB, sizeEnforced: true }]);
});

test("one that an earlier release made as a folder stays one, and says so", async () => {
  await using world = await setup();
  await world.open({}).create({ id: "old", sizeGb: SMALL_GB });
  await writeFile(join(world.folder, "old", "file"), "kept");
  await world.volumes.create({ id: "old", sizeGb: SMALL_GB });
  await world.volumes.grow("old", 1);
  expect(await world.volumes.find("old")).toEqual({ id: "old", sizeGb: 1, sizeEnforced: false });
  expect(await readFile(join(await world.at("old"), "file"), "utf8")).toBe("kept");
  expect(await world.mounts()).toBe(0);
});

test("a server that cannot mount it hides it behind no empty folder", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: SMALL_GB });
  const without = world.open({});
  await expect(without.mounted([{ volume: "v", path: "/workspace" }])).rejects.toThrow("cannot mount");
  await expect(without.usage("v")).rejects.toThrow("cannot mount");
});

test("one that cannot be made so is a folder, and the log says why", async () => {
  await using world = await setup();
  const said: string[] = [];
  const { folder, images } = world;
  const volumes = new VolumeFolders({
    folder,
    images,
    clock: realClock,
    random: realRandom,
    warn: (text) => said.push(text),
  });
  // No file system can be this small.
  await volumes.create({ id: "v", sizeGb: 1e-6 });
  expect(said.join()).toContain("volume v is not held to its size");
  expect(await volumes.find("v")).toMatchObject({ sizeEnforced: false });
});

test("one that nobody uses rests when the server ends, and is there again when it is needed", async () => {
  await using world = await setup();
  await world.volumes.create({ id: "v", sizeGb: SMALL_GB });
  await writeFile(join(await world.at("v"), "file"), "kept");
  let users = ["somebody"];
  world.volumes.users.toldBy(async () => users);
  await world.volumes.rest();
  expect(await world.mounts()).toBe(1);
  users = [];
  await world.volumes.rest();
  expect(await world.mounts()).toBe(0);
  expect(await readFile(join(await world.at("v"), "file"), "utf8")).toBe("kept");
});

/** Disks of programs that stay, which never grow. */
async function disks() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-disks-"));
  const clock = new FakeClock();
  const open = async () => (await VolumeImages.open(folder, { ahead: clock })) as VolumeImages;
  const ready = async () => (await readdir(join(folder, ".images"))).filter((name) => name.startsWith(".ready-"));
  const mounted = async () => {
    const text = await readFile("/proc/mounts", "utf8");
    return text.split("\n").filter((line) => line.includes(folder)).length;
  };
  return { folder, clock, open, ready, mounted };
}

test("disks lie ready, mounted and apart from each other, and take no megabyte before somebody writes", async () => {
  const { folder, clock, open, ready, mounted } = await disks();
  const images = await open();
  const ids = ["a", "b", "c", "d"];
  try {
    await images.make("a", 1);
    expect(await ready()).toEqual([]);
    // One is made at a time, so a moment that passes while one is made brings none.
    const later = async () => {
      await clock.advance(1_000);
      return [(await ready()).length, await mounted()];
    };
    await expect.poll(later, { timeout: 60_000 }).toEqual([2, 3]);
    for (let more = 0; more < 3; more++) expect(await later()).toEqual([2, 3]);
    for (const id of ids.slice(1)) await images.make(id, 1);
    for (const id of ids) {
      expect(await readdir(await images.mount(id))).toEqual([]);
      expect((await images.sizeOf(id))!.bytes).toBe(2 ** 30);
      expect((await images.sizeOf(id))!.takenBytes).toBeLessThan(2 ** 20);
      await writeFile(join(await images.mount(id), "file"), id);
    }
    for (const id of ids) expect(await readFile(join(folder, id, "file"), "utf8")).toBe(id);
    expect((await images.list()).toSorted()).toEqual(ids);
    await runTool("umount", [await images.mount("b")]);
    expect(await readFile(join(await images.mount("b"), "file"), "utf8")).toBe("b");
  } finally {
    await images[Symbol.asyncDispose]();
    for (const id of ids) await images.remove(id);
    expect(await mounted()).toBe(0);
    expect(await readdir(folder)).toEqual([".images"]);
    await rm(folder, { recursive: true });
  }
});

test("what a killed server had ready is gone, and what it had given away is kept", async () => {
  const { folder, clock, open, ready, mounted } = await disks();
  await (await open()).make("given", 1);
  await clock.advance(1_000);
  await expect.poll(mounted, { timeout: 60_000 }).toBe(2);
  await writeFile(join(folder, "given", "file"), "kept");
  // Killed after the link was made, and before the disk had its name.
  await symlink((await ready())[0]!, join(folder, "half"));
  const next = await open();
  try {
    expect([await ready(), await mounted(), await next.list()]).toEqual([[], 1, ["given"]]);
    expect(await readFile(join(await next.mount("given"), "file"), "utf8")).toBe("kept");
    await next.make("half", 1);
    expect(await readdir(await next.mount("half"))).toEqual([]);
  } finally {
    await next[Symbol.asyncDispose]();
    for (const id of ["given", "half"]) await next.remove(id);
    expect(await mounted()).toBe(0);
    await rm(folder, { recursive: true });
  }
});
