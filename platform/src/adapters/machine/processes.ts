/** Reads from the kernel which processes live, when they started and which process started them. */
import { readdir, readFile } from "node:fs/promises";
import { ifNotThere } from "../../kernel/not-there.ts";
import { readKernelFile } from "./kernel-file.ts";

/** Distinguishes a process from a later one with the same number by its start time, in clock ticks since the machine's start. */
export interface Identity {
  pid: number;
  startTime: string;
}

/** Reads a line of `/proc/<pid>/stat`. The name in brackets may hold anything, including brackets and spaces. */
export function parseStat(line: string): Identity | undefined {
  const pid = Number.parseInt(line, 10);
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const startTime = fields[19];
  return Number.isInteger(pid) && startTime !== undefined && /^\d+$/.test(startTime) ? { pid, startTime } : undefined;
}

/** A zombie counts as dead, since it does nothing any more. */
export async function isAlive({ pid, startTime }: Identity): Promise<boolean> {
  const line = statOf(pid);
  const state = line?.slice(line.lastIndexOf(")") + 2, line.lastIndexOf(")") + 3);
  return line !== undefined && parseStat(line)?.startTime === startTime && state !== "Z" && state !== "X";
}

export async function identityOf(pid: number): Promise<Identity | undefined> {
  const line = statOf(pid);
  return line === undefined ? undefined : parseStat(line);
}

/**
 * The process's line of `stat`, read synchronously: the kernel has it in memory and never waits for the process, and hundreds of instances
 * are checked this way. Other files of a process may have to wait for it, so threads read those.
 */
function statOf(pid: number): string | undefined {
  try {
    return readKernelFile(`/proc/${pid}/stat`);
  } catch (error) {
    return ifNotThere(undefined)(error as NodeJS.ErrnoException);
  }
}

/** All processes below a process, children before grandchildren. */
export async function descendants(pid: number): Promise<number[]> {
  const found: number[] = [];
  for (let level = [pid]; level.length > 0; ) {
    const below = await Promise.all(level.map(childrenOf));
    level = below.flat();
    found.push(...level);
  }
  return found;
}

export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readProcess(pid, `task/${pid}/children`);
  return text === undefined ? [] : numbersIn(text);
}

/** The process's number in each of its namespaces, the machine's first. */
export async function numbersOf(pid: number): Promise<number[]> {
  const status = await readProcess(pid, "status");
  return numbersIn(/^NSpid:(.*)$/m.exec(status ?? "")?.[1] ?? "");
}

/** The words of a process's command, separated by spaces; empty when the process is gone. */
export async function commandOf(pid: number): Promise<string> {
  return ((await readProcess(pid, "cmdline")) ?? "").replaceAll("\0", " ");
}

/** Processes whose environment has exactly this entry. Processes of other users cannot be read and are left out. */
export async function withVariable(entry: string): Promise<number[]> {
  return select(async (pid) => (await readProcess(pid, "environ"))?.split("\0").includes(entry));
}

/** Processes whose command begins with these words. */
export async function withCommand(words: readonly string[]): Promise<number[]> {
  const beginning = words.map((word) => `${word}\0`).join("");
  return select(async (pid) => (await readProcess(pid, "cmdline"))?.startsWith(beginning));
}

/** Processes of a group that are not dead yet. */
export async function withGroup(group: number): Promise<number[]> {
  return select(async (pid) => {
    const line = (await readProcess(pid, "stat")) ?? "";
    const [state, , of] = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return of === String(group) && state !== "Z" && state !== "X";
  });
}

async function select(isMeant: (pid: number) => Promise<boolean | undefined>): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const meant = await Promise.all(pids.map(isMeant));
  return pids.filter((_, index) => meant[index]);
}

const CLOSES_ITSELF = 0o2000000;

let inherited: Promise<number[]> | undefined;

/**
 * Descriptors above the standard three that programs started by this process would inherit. Node opens none that way itself, so they are
 * those that this process was started with, and are looked up only once.
 */
export function inheritedDescriptors(): Promise<number[]> {
  inherited ??= findInherited().catch((error: unknown) => {
    inherited = undefined;
    throw error;
  });
  return inherited;
}

/** Reads one after another: each read takes a descriptor, and a busy server may have few left. */
async function findInherited(): Promise<number[]> {
  const found: number[] = [];
  for (const fd of (await readdir("/proc/self/fdinfo")).map(Number).filter((fd) => fd > 2)) {
    const text = await readFile(`/proc/self/fdinfo/${fd}`, "utf8").catch(ifNotThere(""));
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(text)?.[1] ?? CLOSES_ITSELF.toString(8), 8);
    if ((flags & CLOSES_ITSELF) === 0) found.push(fd);
  }
  return found;
}

/** A process that has ended meanwhile is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

export const numbersIn = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);

/** The text of a process's file, or undefined when the process is gone or belongs to another user. */
export async function readProcess(pid: number | "self", name: string): Promise<string | undefined> {
  return readFile(`/proc/${pid}/${name}`, "utf8").catch(ifNotThere(undefined));
}
