/** Control groups: where limits are set and from which a whole instance is frozen and ended, whatever it started. */
import type { InstanceLimits } from "../../ports/compute/compute.ts";

/** The groups of one data folder: one for each of its instances. */
export interface Cgroups {
  /** The folders that all of them are in: kept, since the next process of the server may live elsewhere. */
  readonly bases: readonly string[];
  /** Makes an instance's group, with its limits, empty. */
  create(id: string, limits: InstanceLimits): Promise<void>;
  /** The folders of an instance's group, each of which its first process has to join; whether they exist or not. */
  folders(id: string): string[];
  processes(id: string): Promise<number[]>;
  /** Ends every process of the group at once, also frozen ones and ones that keep starting others. */
  kill(id: string): Promise<void>;
  /** Resolves when no process of the group runs any more. */
  freeze(id: string): Promise<void>;
  thaw(id: string): Promise<void>;
  isFrozen(id: string): Promise<boolean>;
  /** How often a process was ended because the group had used up its memory. */
  outOfMemory(id: string): Promise<number>;
  /** What its processes use and have used, those that have ended included; what the machine does not count is absent. */
  usage(id: string): Promise<Usage>;
  /** Of an empty group, or one that is not there. */
  remove(id: string): Promise<void>;
  /** Every group that is there, with or without an instance. */
  list(): Promise<string[]>;
  /** Removes what all groups of the data folder were kept in, once it is empty. */
  close(): Promise<void>;
}

export interface Usage {
  cpuMs?: number;
  /** Without pages of files that could be dropped at once. */
  memoryBytes?: number;
}

/** Numbers as a file of a group has them; absent where it has none. */
export function usageFrom(cpuMs: number, memory: number, droppable: number): Usage {
  return {
    ...(Number.isFinite(cpuMs) && { cpuMs: Math.floor(cpuMs) }),
    ...(Number.isFinite(memory) && { memoryBytes: Math.max(0, memory - (droppable || 0)) }),
  };
}

/** The number behind a name in a line of its own, or all of the text. */
export function numberIn(text: string, name?: string): number {
  const found = name === undefined ? text.trim() : new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1];
  return found ? Number(found) : Number.NaN;
}

/** Threads count too; a program that starts them without end is stopped here. */
export const MOST_PROCESSES = 4_096;

/** What this process can see of control groups: the text of `/proc/self/mountinfo` and `/proc/self/cgroup`. */
export interface CgroupPlace {
  mounts: string;
  own: string;
}
