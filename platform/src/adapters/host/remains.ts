/** Searches the machine for the remains of an instance, for tests. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { linkNames } from "../machine/links.ts";

/** Describes the processes, control groups, links, mounts and files that belong to an instance. */
export async function remainsOf(id: string, data: string): Promise<string[]> {
  const [processes, groups, mounts, files] = await Promise.all([
    processesOf(id),
    foldersNamed(id, "/sys/fs/cgroup", 6),
    readFile("/proc/mounts", "utf8"),
    foldersNamed(id, data, 3),
  ]);
  return [
    ...processes,
    ...groups.map((folder) => `control group ${folder}`),
    ...mounts
      .split("\n")
      .filter((line) => line.includes(id))
      .map((line) => `mount ${line}`),
    ...files.map((file) => `file ${file}`),
  ];
}

/** Processes that carry the instance's id in their command, control group, host name or variables. Zombies do not count. */
async function processesOf(id: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => ((await concerns(pid, id)) ? [`process ${pid}: ${await textOf(pid, "cmdline")}`] : [])),
  );
  return found.flat();
}

async function concerns(pid: string, id: string): Promise<boolean> {
  const [command, group, variables, output] = await Promise.all([
    textOf(pid, "cmdline"),
    textOf(pid, "cgroup"),
    textOf(pid, "environ"),
    readlink(`/proc/${pid}/fd/1`).catch(() => ""),
  ]);
  return [command, group, variables, output].some((text) => text.includes(id));
}

const textOf = async (pid: string, name: string) =>
  (await readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")).replaceAll("\0", " ").trim();

/** Every folder below this one. Others create and remove folders meanwhile, so missing ones are skipped. */
export async function foldersBelow(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
  if (depth === 0) return folders;
  return [...folders, ...(await Promise.all(folders.map((one) => foldersBelow(one, depth - 1)))).flat()];
}

async function foldersNamed(id: string, folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = await Promise.all(
    entries
      .filter((entry) => depth > 0 && entry.isDirectory() && entry.name !== id)
      .map((entry) => foldersNamed(id, join(folder, entry.name), depth - 1)),
  );
  return [...entries.filter(({ name }) => name === id).map(({ name }) => join(folder, name)), ...below.flat()];
}

/** Bridges and name files of groups whose names begin with this bridge's name, and the links of members. */
export async function groupsLeftBy(bridge: string): Promise<string[]> {
  const links = [...(await linkNames())].filter((name) => /[gxoqw][0-9a-f]*$/.test(name));
  const names = await readdir("/run/millrace-groups").catch(() => []);
  return [...links.map((name) => `link ${name}`), ...names.map((name) => `names ${name}`)].filter((thing) =>
    thing.includes(` ${bridge}`),
  );
}
