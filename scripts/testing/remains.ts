/** What a run of tests leaves on the machine: processes, mounts, loop devices, network links and cgroups. */
import { type Dirent, existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Every process of a run has this variable, unless it was started without its parent's. */
export const RUN = "MILLRACE_TEST_RUN";

export interface TestRun {
  id: string;
  /** Where tests put everything that they write. */
  folder: string;
}

const CGROUPS = "/sys/fs/cgroup";
/** Cgroups of controllers, of a container around the tests, and of ours in it. */
const CGROUP_DEPTH = 5;

export interface LeftProcess {
  pid: number;
  command: string;
}

/** Processes of a run, by its variable or by a path of its folder; this one is not among them. */
export function processesOf({ id, folder }: TestRun): LeftProcess[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = readProc(pid, "cmdline").replaceAll("\0", " ").trim();
      const isOurs =
        readProc(pid, "environ").split("\0").includes(`${RUN}=${id}`) ||
        command.includes(folder) ||
        workingFolder(pid).startsWith(folder);
      // A process that has ended and was not waited for has no command line: it holds nothing.
      return isOurs && command !== "" ? [{ pid: Number(pid), command: command.slice(0, 200) }] : [];
    });
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    // It has ended, or is another user's.
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

/** Links and cgroups do not name the run that made them: those that were there before are somebody else's. */
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

/** Network links with names that the product and its tests give. */
function links(): string[] {
  return readFileSync("/proc/self/net/dev", "utf8")
    .split("\n")
    .map((line) => line.split(":")[0]!.trim())
    .filter((name) => /^m[rt][0-9a-z-]{4,}/.test(name));
}

function cgroups(folder: string, depth: number): string[] {
  if (depth === 0 || !existsSync(folder)) return [];
  let entries: Dirent[] = [];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // It went away meanwhile, or is closed to this user, who then made nothing in it.
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

function loopDevicesOf(folder: string): string[] {
  if (!existsSync("/sys/block")) return [];
  return readdirSync("/sys/block").filter((name) => {
    const file = join("/sys/block", name, "loop/backing_file");
    return name.startsWith("loop") && existsSync(file) && readFileSync(file, "utf8").startsWith(folder);
  });
}
