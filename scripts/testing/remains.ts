/** Finds what a test run leaves on the machine: processes, mounts, loop devices, network links and cgroups. */
import { type Dirent, existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Every process of a run has this variable, unless it was started with another environment. */
export const RUN = "MILLRACE_TEST_RUN";

export interface TestRun {
  id: string;
  /** The folder into which tests write everything. */
  folder: string;
}

const CGROUPS = "/sys/fs/cgroup";
/** Deep enough for the cgroups of controllers, of a container around the tests, and ours inside it. */
const CGROUP_DEPTH = 5;

export interface LeftProcess {
  pid: number;
  command: string;
}

/** The processes of a run, found by its variable or by a path of its folder, except this one. */
export function processesOf({ id, folder }: TestRun): LeftProcess[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = readProc(pid, "cmdline").replaceAll("\0", " ").trim();
      const isOurs =
        readProc(pid, "environ").split("\0").includes(`${RUN}=${id}`) ||
        command.includes(folder) ||
        workingFolder(pid).startsWith(folder);
      // A zombie process has no command line and holds nothing.
      return isOurs && command !== "" ? [{ pid: Number(pid), command: command.slice(0, 200) }] : [];
    });
}

/** Tells servers of a run to end, and returns them. They take their workers, links and cgroups with them. */
export function endServers(run: TestRun): LeftProcess[] {
  const servers = processesOf(run).filter(({ command }) => command.includes(" serve "));
  for (const { pid } of servers) {
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      // It has ended meanwhile.
    }
  }
  return servers;
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    // The process has ended or belongs to another user.
    return "";
  }
}

function workingFolder(pid: string): string {
  try {
    return readlinkSync(join("/proc", pid, "cwd"));
  } catch {
    return "";
  }
}

export interface Surroundings {
  links: string[];
  cgroups: string[];
}

/** Links and cgroups do not name the run that made them, so those that existed before belong to others. */
export function surroundings(): Surroundings {
  return { links: links(), cgroups: cgroups(CGROUPS, CGROUP_DEPTH) };
}

export function remainsOf(run: TestRun, before: Surroundings): string[] {
  const now = surroundings();
  const added = (sort: keyof Surroundings) => now[sort].filter((name) => !before[sort].includes(name));
  return [
    ...processesOf(run).map(({ pid, command }) => `process ${pid}: ${command}`),
    ...mountsBelow(run.folder).map((mount) => `mount ${mount}`),
    ...loopDevicesOf(run.folder).map((device) => `loop device ${device}`),
    ...added("links").map((name) => `network link ${name}`),
    ...added("cgroups").map((path) => `cgroup ${path}`),
  ];
}

/** Network links with names that the product and its tests use. */
const links = (): string[] => allLinks().filter((name) => /^m[rt][0-9a-z-]{4,}/.test(name));

/** The bridge of one data folder, which has its key in its name, and the links of its instances. */
export const linksOf = (key: string): string[] => allLinks().filter((name) => name.startsWith(`mr${key}`));

const allLinks = (): string[] =>
  readFileSync("/proc/self/net/dev", "utf8")
    .split("\n")
    .map((line) => line.split(":")[0]!.trim());

export function cgroups(folder: string, depth: number): string[] {
  if (depth === 0 || !existsSync(folder)) return [];
  let entries: Dirent[] = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // The folder has disappeared, or this user may not read it and so made nothing in it.
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => {
      const path = join(folder, name);
      return name.startsWith("millrace-") ? [path] : cgroups(path, depth - 1);
    });
}

export function mountsBelow(folder: string): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((mount) => mount.startsWith(`${folder}/`));
}

export function loopDevicesOf(folder: string): string[] {
  if (!existsSync("/sys/block")) return [];
  return readdirSync("/sys/block").filter((name) => {
    const file = join("/sys/block", name, "loop/backing_file");
    return name.startsWith("loop") && existsSync(file) && readFileSync(file, "utf8").startsWith(folder);
  });
}
