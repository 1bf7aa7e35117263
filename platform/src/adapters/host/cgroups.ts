/** Control groups: they limit an instance, and freeze or end all of its processes, whatever it started. */
import type { InstanceLimits } from "../../ports/compute/compute.ts";

/** The groups of one data folder, one for each instance. */
export interface Cgroups {
  /** The folders that hold all groups. They are recorded, since the next process of the server may run in another group itself. */
  readonly bases: readonly string[];
  /** Creates an instance's group, empty and with its limits. */
  create(id: string, limits: InstanceLimits): Promise<void>;
  /** The folders of an instance's group, whether or not they exist. The instance's first process has to join each of them. */
  folders(id: string): string[];
  processes(id: string): Promise<number[]>;
  /** Ends every process of the group at once, including frozen ones and ones that keep starting others. */
  kill(id: string): Promise<void>;
  /** Resolves when no process of the group runs any more. */
  freeze(id: string): Promise<void>;
  thaw(id: string): Promise<void>;
  isFrozen(id: string): Promise<boolean>;
  /** How often the kernel killed a process because the group had used up its memory. */
  outOfMemory(id: string): Promise<number>;
  /** What the group's processes use, and have used, including those that have ended. Values that the machine does not count are absent. */
  usage(id: string): Promise<Usage>;
  /** Removes an empty group. A group that does not exist is no error. */
  remove(id: string): Promise<void>;
  /** Every existing group, with or without an instance. */
  list(): Promise<string[]>;
  /** Removes the folder that held all groups of the data folder, once it is empty. */
  close(): Promise<void>;
}

export interface Usage {
  cpuMs?: number;
  /** Without cached file pages that the kernel could drop at once. */
  memoryBytes?: number;
}

/** Stops a program that starts threads or processes without end. Threads count too. */
export const MOST_PROCESSES = 4_096;

/** What this process sees of control groups: the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`. */
export interface CgroupPlace {
  mounts: string;
  own: string;
}
