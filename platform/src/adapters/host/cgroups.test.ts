/** Control groups on folders that imitate a machine's: where they are made, what is written to them and what is read from them. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { mountsOf, ownPath, seenAt } from "./cgroup-files.ts";
import type { CgroupPlace, Cgroups } from "./cgroups.ts";
import { openCgroups } from "./open-cgroups.ts";

const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true });
});

async function fakeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "millrace-cgroup-"));
  made.push(root);
  return root;
}

/** The kernel creates a group's files together with its folder. Here the test does it. */
async function fakeFiles(folder: string, files: Record<string, string>): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

const V2_FILES = {
  "cgroup.procs": "",
  "cgroup.subtree_control": "",
  "cgroup.kill": "",
  "cgroup.freeze": "0",
  "cgroup.events": "populated 1\nfrozen 1\n",
  "memory.max": "max",
  "memory.current": "5000000\n",
  "memory.stat": "anon 1\ninactive_file 2000000\n",
  "cpu.stat": "usage_usec 1234567\nuser_usec 1\n",
  "memory.swap.max": "max",
  "memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 0\n",
  "cpu.max": "max 100000",
  "pids.max": "max",
};

const limits = { vcpu: 1.5, memoryMb: 512, diskGb: 1 };

const tryOpen = (place: CgroupPlace, file = "/nowhere/kept") =>
  openCgroups({ place, name: "millrace-abc123", file, clock: new FakeClock() });

async function openFake(mounts: string, own: string): Promise<Cgroups> {
  const cgroups = await tryOpen({ mounts, own }, join(await fakeRoot(), "kept"));
  if ("cannot" in cgroups) throw new Error(cgroups.cannot);
  return cgroups;
}

describe("version 2", () => {
  const mountLine = (root: string) => `30 23 0:26 / ${root} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n`;

  async function openV2() {
    const root = await fakeRoot();
    await fakeFiles(root, V2_FILES);
    await fakeFiles(join(root, "millrace-abc123"), V2_FILES);
    await fakeFiles(join(root, "millrace-abc123", "i1"), V2_FILES);
    const cgroups = await openFake(mountLine(root), "0::/user.slice\n");
    const read = (file: string) => readFile(join(root, "millrace-abc123", file), "utf8");
    return { root, cgroups, read };
  }

  test("controllers are offered downwards, and limits are written, without swap", async () => {
    const { root, cgroups, read } = await openV2();
    await cgroups.create("i1", limits);
    expect(cgroups.folders("i1")).toEqual([join(root, "millrace-abc123", "i1")]);
    expect(await readFile(join(root, "cgroup.subtree_control"), "utf8")).toBe("+memory +cpu +pids");
    expect(await read("cgroup.subtree_control")).toBe("+memory +cpu +pids");
    expect(await read("i1/memory.max")).toBe(String(512 * 1_048_576));
    expect(await read("i1/memory.swap.max")).toMatch(/^0/);
    expect(await read("i1/cpu.max")).toMatch(/^150000 100000/);
    expect(await read("i1/pids.max")).toBe("4096");
  });

  test("a group tells what it uses, and nothing of what is not there", async () => {
    const { cgroups } = await openV2();
    expect(await cgroups.usage("i1")).toEqual({ cpuMs: 1_234, memoryBytes: 3_000_000 });
    expect(await cgroups.usage("unknown")).toEqual({});
  });

  test("the parts of a group's memory are read again once it ran, or holds another amount", async () => {
    const { root, cgroups } = await openV2();
    const write = (name: string, text: string) => writeFile(join(root, "millrace-abc123", "i1", name), text);
    await cgroups.usage("i1");
    await write("memory.stat", "inactive_file 1000000\n");
    expect(await cgroups.usage("i1")).toMatchObject({ memoryBytes: 3_000_000 });
    await write("cpu.stat", "usage_usec 1234568\n");
    expect(await cgroups.usage("i1")).toMatchObject({ memoryBytes: 4_000_000 });
    await write("memory.stat", "inactive_file 0\n");
    await write("memory.current", "6000000\n");
    expect(await cgroups.usage("i1")).toMatchObject({ memoryBytes: 6_000_000 });
  });

  test("a group is ended, frozen and thawed as a whole, and says when memory ran out", async () => {
    const { cgroups, read } = await openV2();
    await cgroups.kill("i1");
    expect(await read("i1/cgroup.kill")).toBe("1");
    await cgroups.freeze("i1");
    expect(await read("i1/cgroup.freeze")).toBe("1");
    expect(await cgroups.isFrozen("i1")).toBe(true);
    await cgroups.thaw("i1");
    expect(await read("i1/cgroup.freeze")).toBe("0");
    expect(await cgroups.outOfMemory("i1")).toBe(2);
  });

  test("what is gone is neither frozen nor out of memory, and ends without an error", async () => {
    const { cgroups } = await openV2();
    await cgroups.kill("gone");
    await cgroups.thaw("gone");
    await cgroups.remove("gone");
    expect([await cgroups.isFrozen("gone"), await cgroups.outOfMemory("gone")]).toEqual([false, 0]);
    expect(await cgroups.list()).toEqual(["i1"]);
  });

  test("groups that still hold instances are used on, wherever the next process is", async () => {
    const { root } = await openV2();
    const file = join(root, "kept");
    await writeFile(file, join(root, "millrace-abc123"));
    const elsewhere = await tryOpen({ mounts: "", own: "0::/another\n" }, file);
    expect("cannot" in elsewhere ? elsewhere.cannot : elsewhere.folders("i1")).toEqual([
      join(root, "millrace-abc123", "i1"),
    ]);
  });

  test("without a place to write there is a reason instead", async () => {
    expect(await tryOpen({ mounts: "", own: "" })).toEqual({
      cannot: expect.stringContaining("none are mounted"),
    });
    const place = { mounts: mountLine("/nowhere/at/all"), own: "0::/\n" };
    expect(await tryOpen(place)).toEqual({ cannot: expect.stringContaining("ENOENT") });
  });
});

describe("version 1", () => {
  const CONTROLLERS = ["memory", "cpu", "pids", "freezer"];

  test("each controller has its tree, and a group is made below this process's own in each", async () => {
    const root = await fakeRoot();
    const place = (controller: string) =>
      join(root, controller, controller === "memory" ? "own" : "", "millrace-abc123", "i1");
    for (const controller of CONTROLLERS) await fakeFiles(place(controller), { "cgroup.procs": "" });
    const files = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"];
    await fakeFiles(place("memory"), {
      ...Object.fromEntries(files.map((name) => [name, ""])),
      "memory.oom_control": "oom_kill 1\n",
    });
    await fakeFiles(place("cpu"), { "cpu.cfs_period_us": "", "cpu.cfs_quota_us": "" });
    await fakeFiles(place("pids"), { "pids.max": "" });
    await fakeFiles(place("freezer"), { "freezer.state": "THAWED" });
    const mounts = CONTROLLERS.map((name) => `1 2 0:1 / ${join(root, name)} rw - cgroup cgroup rw,${name}\n`).join("");
    const cgroups = await openFake(mounts, "4:memory:/own\n1:cpu:/\n8:pids:/\n6:freezer:/\n");
    await cgroups.create("i1", limits);
    expect(cgroups.folders("i1")).toEqual(CONTROLLERS.map(place));
    expect(await readFile(join(place("memory"), "memory.memsw.limit_in_bytes"), "utf8")).toBe(String(512 * 1_048_576));
    expect(await readFile(join(place("cpu"), "cpu.cfs_quota_us"), "utf8")).toBe("150000");
    await cgroups.freeze("i1");
    expect(await cgroups.isFrozen("i1")).toBe(true);
    await cgroups.kill("i1");
    expect(await readFile(join(place("freezer"), "freezer.state"), "utf8")).toBe("THAWED");
    expect(await cgroups.outOfMemory("i1")).toBe(1);
  });
});

describe("version 1 counts processor time", () => {
  const MEMORY = {
    "memory.usage_in_bytes": "5000000\n",
    "memory.stat": "inactive_file 1\ntotal_inactive_file 2000000\n",
  };

  test.each([
    ["together with the limits", ["cpu,cpuacct"], "cpu,cpuacct"],
    ["in a tree of its own", ["cpu", "cpuacct"], "cpuacct"],
  ])("%s", async (_, trees, counting) => {
    const root = await fakeRoot();
    const all = ["memory", "pids", "freezer", ...trees];
    const place = (tree: string) => join(root, tree, "millrace-abc123", "i1");
    for (const tree of all) await fakeFiles(place(tree), { "cgroup.procs": "" });
    await fakeFiles(place("memory"), MEMORY);
    await fakeFiles(place(counting), { "cpuacct.usage": "1234567890\n" });
    const mounts = all.map((name) => `1 2 0:1 / ${join(root, name)} rw - cgroup cgroup rw,${name}\n`).join("");
    const cgroups = await openFake(mounts, all.map((name, number) => `${number + 1}:${name}:/\n`).join(""));
    expect(cgroups.folders("i1").sort()).toEqual(all.map(place).sort());
    expect(await cgroups.usage("i1")).toEqual({ cpuMs: 1_234, memoryBytes: 3_000_000 });
  });
});

describe("where groups are seen", () => {
  test("mounts are read with their controllers, spaces and roots", () => {
    const text =
      "33 32 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n" +
      "34 32 0:30 / /with\\040space rw shared:1 - cgroup2 none rw\n";
    expect(mountsOf(text, "cgroup")).toEqual([
      { at: "/sys/fs/cgroup/cpu,cpuacct", root: "/docker/abc", options: ["rw", "cpu", "cpuacct"] },
    ]);
    expect(mountsOf(text, "cgroup2")).toEqual([{ at: "/with space", root: "/", options: ["rw"] }]);
  });

  test("the own path of version 2 has no controllers before it", () => {
    const text = "4:memory:/a\n1:name=systemd:/b:c\n0::/user.slice/x\n";
    expect([ownPath(text, "memory"), ownPath(text, "name=systemd"), ownPath(text, ""), ownPath(text, "cpu")]).toEqual([
      "/a",
      "/b:c",
      "/user.slice/x",
      undefined,
    ]);
  });

  test("a path is found below what of the tree is mounted, or is not to be seen", () => {
    const mount = { at: "/m", root: "/docker/abc", options: [] };
    expect(seenAt(mount, "/docker/abc")).toBe("/m");
    expect(seenAt(mount, "/docker/abc/x")).toBe("/m/x");
    expect(seenAt(mount, "/docker/abcd")).toBeUndefined();
    expect(seenAt({ ...mount, root: "/" }, "/")).toBe("/m");
    expect(seenAt({ ...mount, root: "/" }, "/a")).toBe("/m/a");
  });
});
