/** Control groups of version 2: one tree for all controllers. */
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import type { InstanceLimits } from "../../ports/compute/compute.ts";
import { numbersIn, sendSignal } from "../machine/processes.ts";
import {
  foldersIn,
  makeFolder,
  mountsOf,
  ownPath,
  readIfThere,
  removeFolder,
  seenAt,
  until,
  write,
  writeIfThere,
  writeNowIfThere,
} from "./cgroup-files.ts";
import { type CgroupPlace, type Cgroups, MOST_PROCESSES, type Usage } from "./cgroups.ts";
import { numberIn, UsageMeter } from "./usage-meter.ts";

const CONTROLLERS = "+memory +cpu +pids";
const PERIOD_US = 100_000;
/** The processes of this process's own group move into this leaf, since a group with processes cannot have limited groups below it. */
const OWN_LEAF = "millrace-server";

export class CgroupsV2 implements Cgroups {
  readonly #base: string;
  readonly #clock: Clock;
  readonly #meter = new UsageMeter();

  private constructor(base: string, clock: Clock) {
    this.#base = base;
    this.#clock = clock;
  }

  /**
   * Opens the groups at the root of the mount if this process may write there, as daemons of the system do. Otherwise it opens them below
   * its own group, which a service manager must have delegated to it.
   */
  static async open({ mounts, own }: CgroupPlace, name: string, clock: Clock): Promise<CgroupsV2> {
    const mount = mountsOf(mounts, "cgroup2")[0];
    if (!mount) throw new Error("none are mounted");
    const path = ownPath(own, "");
    const below = path === undefined ? undefined : seenAt(mount, path);
    const places = [mount.at, ...(below === undefined || below === mount.at ? [] : [below])];
    let failure: unknown;
    for (const place of places) {
      try {
        await offerControllers(place);
        const base = join(place, name);
        await makeFolder(base);
        await write(join(base, "cgroup.subtree_control"), CONTROLLERS);
        return CgroupsV2.at(base, clock);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** The groups that an earlier process of the server used. */
  static at(base: string, clock: Clock): CgroupsV2 {
    return new CgroupsV2(base, clock);
  }

  get bases(): string[] {
    return [this.#base];
  }

  folders(id: string): string[] {
    return [join(this.#base, id)];
  }

  async create(id: string, { memoryMb, vcpu }: InstanceLimits): Promise<void> {
    await makeFolder(this.#file(id));
    await Promise.all([
      write(this.#file(id, "memory.max"), String(memoryMb * 1_048_576)),
      // The file is absent where the kernel does not count swap.
      writeIfThere(this.#file(id, "memory.swap.max"), "0"),
      write(this.#file(id, "cpu.max"), `${Math.round(vcpu * PERIOD_US)} ${PERIOD_US}`),
      write(this.#file(id, "pids.max"), String(MOST_PROCESSES)),
    ]);
  }

  async processes(id: string): Promise<number[]> {
    return numbersIn(await readIfThere(this.#file(id, "cgroup.procs")));
  }

  async kill(id: string): Promise<void> {
    await until(this.#clock, `ending ${id}`, async () => {
      await writeIfThere(this.#file(id, "cgroup.kill"), "1");
      const pids = await this.processes(id);
      // Kernels before 5.14 have no cgroup.kill. Sending the signal twice does no harm.
      for (const pid of pids) sendSignal(pid, "SIGKILL");
      return pids.length === 0;
    });
  }

  async freeze(id: string): Promise<void> {
    await write(this.#file(id, "cgroup.freeze"), "1");
    await until(this.#clock, `freezing ${id}`, () => this.isFrozen(id));
  }

  async thaw(id: string): Promise<void> {
    writeNowIfThere(this.#file(id, "cgroup.freeze"), "0");
  }

  async isFrozen(id: string): Promise<boolean> {
    return /^frozen 1$/m.test(await readIfThere(this.#file(id, "cgroup.events")));
  }

  async outOfMemory(id: string): Promise<number> {
    const text = await readIfThere(this.#file(id, "memory.events"));
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  async usage(id: string): Promise<Usage> {
    return this.#meter.usage(id, {
      cpu: this.#file(id, "cpu.stat"),
      memory: this.#file(id, "memory.current"),
      parts: this.#file(id, "memory.stat"),
      cpuMsIn: (text) => numberIn(text, "usage_usec") / 1_000,
      droppable: "inactive_file",
    });
  }

  async remove(id: string): Promise<void> {
    this.#meter.forget(id);
    await removeFolder(this.#clock, this.#file(id));
  }

  async list(): Promise<string[]> {
    return foldersIn(this.#base);
  }

  async close(): Promise<void> {
    if ((await this.list()).length === 0) await removeFolder(this.#clock, this.#base);
  }

  #file(id: string, file = ""): string {
    return join(this.#base, id, file);
  }
}

/** Lets the groups below this one have limits. */
async function offerControllers(place: string): Promise<void> {
  const file = join(place, "cgroup.subtree_control");
  const offered = (await readIfThere(file)).split(/\s+/);
  if (["memory", "cpu", "pids"].every((controller) => offered.includes(controller))) return;
  try {
    await write(file, CONTROLLERS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
    // This is the root of a container's view, or a delegated group. Its processes, including this one, have to move into a leaf first.
    await makeFolder(join(place, OWN_LEAF));
    for (const pid of numbersIn(await readIfThere(join(place, "cgroup.procs"))))
      await writeIfThere(join(place, OWN_LEAF, "cgroup.procs"), String(pid)).catch(() => {});
    await write(file, CONTROLLERS);
  }
}
