/** Reads what a control group uses from its files. */
import { readNowIfThere } from "./cgroup-files.ts";
import type { Usage } from "./cgroups.ts";

/** The files that say what a group uses, and how they say it. */
export interface UsageFiles {
  cpu: string;
  memory: string;
  parts: string;
  cpuMsIn(text: string): number;
  /** The name of the memory that the kernel could drop, among the parts. */
  droppable: string;
}

/** Measures groups. The kernel sums up a group's memory by its parts, which takes it longer than everything else here. */
export class UsageMeter {
  readonly #droppable = new Map<string, { said: string; bytes: number }>();

  usage(id: string, { cpu, memory, parts, cpuMsIn, droppable }: UsageFiles): Usage {
    const [used, held] = [readNowIfThere(cpu), readNowIfThere(memory)];
    const said = `${used} ${held}`;
    const before = this.#droppable.get(id);
    // The parts of a group that has not run, and that holds as much memory as before, are what they were.
    const bytes = before?.said === said ? before.bytes : numberIn(readNowIfThere(parts), droppable);
    if (held !== "") this.#droppable.set(id, { said, bytes });
    return usageFrom(cpuMsIn(used), numberIn(held), bytes);
  }

  forget(id: string): void {
    this.#droppable.delete(id);
  }
}

/** Leaves out values that are not numbers, which stand for files that do not exist. */
function usageFrom(cpuMs: number, memory: number, droppable: number): Usage {
  return {
    ...(Number.isFinite(cpuMs) && { cpuMs: Math.floor(cpuMs) }),
    ...(Number.isFinite(memory) && { memoryBytes: Math.max(0, memory - (droppable || 0)) }),
  };
}

/** The number after a name on a line of its own, or the whole text as a number when no name is given. */
export function numberIn(text: string, name?: string): number {
  const found = name === undefined ? text.trim() : new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1];
  return found ? Number(found) : Number.NaN;
}
