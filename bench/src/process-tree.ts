/** The CPU time and memory of processes and everything they started, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** Clock ticks per second in /proc: 100 on every Linux that Node runs on. */
const TICKS = 100;

interface Stat {
  pid: number;
  parent: number;
  /** The process's own time and that of its ended children. */
  ticks: number;
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain spaces, so fields are counted from behind it.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
    return { pid, parent: Number(fields[1]), ticks: user + system + childUser + childSystem };
  } catch {
    return undefined;
  }
}

function tree(roots: readonly number[]): Stat[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat !== undefined);
  const wanted = new Set(roots);
  for (let before = -1; before !== wanted.size; ) {
    before = wanted.size;
    for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid);
  }
  return all.filter(({ pid }) => wanted.has(pid));
}

/** CPU seconds that these processes and everything they started have used. */
export function cpuSeconds(roots: readonly number[]): number {
  return tree(roots).reduce((sum, { ticks }) => sum + ticks, 0) / TICKS;
}

/** The same in nanoseconds, which can tell short periods apart. Includes only current threads, not children. */
export function cpuNanoseconds(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids)
    for (const thread of readdirSync(`/proc/${pid}/task`)) sum += threadNanoseconds(pid, Number(thread));
  return sum;
}

/** The processes that this one has started itself. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

export function threadNanoseconds(pid: number, thread: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ", 1)[0]);
}

/** Bytes of memory that these processes and everything they started use now. */
export function residentBytes(roots: readonly number[]): number {
  return tree(roots).reduce((sum, { pid }) => sum + residentOf(pid), 0);
}

function residentOf(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}
