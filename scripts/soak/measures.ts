/** What a server holds on its machine, measured from outside: memory, descriptors, processes, files, mounts, links and control groups. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { keyOf } from "../../platform/src/adapters/host/host-options.ts";
import type { Debugger } from "../../platform/tests/hostile/requests/memory.ts";
import { cgroups, linksOf, loopDevicesOf, mountsBelow } from "../testing/remains.ts";

interface Measure {
  name: string;
  unit: "MB" | "";
  /** The growth an hour that is not worth a word. */
  tolerance: number;
  /** What is meant to fill up, and to what bound. */
  meant?: string;
}

const count = (name: string): Measure => ({ name, unit: "", tolerance: 2 });
const RESULTS = "results are kept for 30 minutes after the end";

export const MEASURES = {
  rss: { name: "memory", unit: "MB", tolerance: 15 },
  heap: { name: "heap of the main thread after a collection", unit: "MB", tolerance: 3 },
  external: { name: "buffers outside the heap", unit: "MB", tolerance: 3 },
  descriptors: { name: "descriptors without sockets", unit: "", tolerance: 5 },
  sockets: { name: "sockets", unit: "", tolerance: 5, meant: "as many as clients keep open" },
  threads: count("threads of the server"),
  processes: { name: "processes", unit: "", tolerance: 4 },
  mounts: count("mounts"),
  loops: count("loop devices"),
  links: { name: "network links", unit: "", tolerance: 4 },
  cgroups: { name: "control groups", unit: "", tolerance: 4 },
  files: { name: "files", unit: "", tolerance: 20, meant: "logs of ended workers are kept for 7 days, 4 GB in all" },
  queue: { name: "queue.db", unit: "MB", tolerance: 3, meant: RESULTS },
  payloads: { name: "payloads", unit: "MB", tolerance: 1, meant: RESULTS },
  store: {
    name: "store.db",
    unit: "MB",
    tolerance: 1,
    meant: "spans for as long as the account, the audit log for 90 days, series for 30 days",
  },
  logs: { name: "logs", unit: "MB", tolerance: 1, meant: "50 MB for each worker, 4 GB in all, 7 days after its end" },
  instances: { name: "instances", unit: "MB", tolerance: 2, meant: "unread output, 12 MB for each" },
  rest: { name: "other files", unit: "MB", tolerance: 1 },
} as const satisfies Record<string, Measure>;

export type Values = Record<keyof typeof MEASURES, number>;

const MIB = 1024 * 1024;
const CGROUPS = "/sys/fs/cgroup";
const CGROUP_DEPTH = 6;
const DISK_BLOCK = 512;

export async function measure(pid: number, data: string, inside: Debugger): Promise<Values> {
  const { key } = keyOf(join(data, "instances"));
  const { rssMb, heapMb, externalMb } = await inside.vitals();
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => tolerant(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ""));
  const sockets = open.filter((target) => target.startsWith("socket:")).length;
  const groups = cgroups(CGROUPS, CGROUP_DEPTH).filter((path) => path.includes(`millrace-${key}`));
  const sizes = sizesIn(data);
  return {
    ...{ rss: rssMb, heap: heapMb, external: externalMb, descriptors: open.length - sockets, sockets },
    threads: readdirSync(`/proc/${pid}/task`).length,
    processes: new Set([...descendants(pid), ...groups.flatMap(processesIn)]).size,
    mounts: mountsBelow(data).length,
    loops: loopDevicesOf(data).length,
    links: linksOf(key).length,
    cgroups: groups.flatMap(below).length,
    ...sizes,
  };
}

/** A tree in which files come and go. What has just gone counts as nothing. */
function tolerant<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

type Sizes = Pick<Values, "files" | "queue" | "payloads" | "store" | "logs" | "instances" | "rest">;

function sizesIn(data: string): Sizes {
  const sizes: Sizes = { files: 0, queue: 0, payloads: 0, store: 0, logs: 0, instances: 0, rest: 0 };
  const mounted = new Set(mountsBelow(data));
  const walk = (folder: string, part: keyof Sizes | undefined) => {
    for (const entry of tolerant(() => readdirSync(folder, { withFileTypes: true }), [])) {
      const path = join(folder, entry.name);
      if (mounted.has(path)) continue;
      const own = part ?? partOf(entry.name);
      if (entry.isDirectory()) walk(path, own);
      else {
        sizes.files++;
        sizes[own] += tolerant(() => statSync(path).blocks * DISK_BLOCK, 0) / MIB;
      }
    }
  };
  walk(data, undefined);
  return sizes;
}

function partOf(name: string): keyof Sizes {
  for (const part of ["queue", "store", "payloads", "logs", "instances"] as const)
    if (name === part || name.startsWith(`${part}.db`)) return part;
  return "rest";
}

function descendants(pid: number): number[] {
  const children = tolerant(() => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"), "");
  return children
    .split(" ")
    .filter(Boolean)
    .flatMap((child) => [Number(child), ...descendants(Number(child))]);
}

const below = (folder: string): string[] =>
  tolerant(() => readdirSync(folder, { withFileTypes: true }), [])
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [join(folder, name), ...below(join(folder, name))]);

const processesIn = (group: string): number[] =>
  [group, ...below(group)].flatMap((folder) =>
    tolerant(() => readFileSync(join(folder, "cgroup.procs"), "utf8"), "")
      .split("\n")
      .filter(Boolean)
      .map(Number),
  );
