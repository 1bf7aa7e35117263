/** Control groups of version 1: one tree of folders for each controller. */
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
  writeNow,
  writeNowIfThere,
} from "./cgroup-files.ts";
import { type CgroupPlace, type Cgroups, MOST_PROCESSES, type Usage } from "./cgroups.ts";
import { numberIn, UsageMeter } from "./usage-meter.ts";

const CONTROLLERS = ["memory", "cpu", "pids", "freezer"] as const;
type Controller = (typeof CONTROLLERS)[number];
type Bases = Record<Controller, string> & {
  /** Counts processor time. On most machines `cpu` and `cpuacct` share a folder. Absent where the controller does not exist. */
  cpuacct?: string;
};

const PERIOD_US = 100_000;

export class CgroupsV1 implements Cgroups {
  readonly #bases: Bases;
  readonly #clock: Clock;
  readonly #meter = new UsageMeter();

  private constructor(bases: Bases, clock: Clock) {
    this.#bases = bases;
    this.#clock = clock;
  }

  /** This process's own folder in each tree. Groups below it also count against the limits of this process. */
  static places({ mounts, own }: CgroupPlace): Bases | undefined {
    const hierarchies = mountsOf(mounts, "cgroup");
    const found = CONTROLLERS.map((controller) => {
      const mount = hierarchies.find(({ options }) => options.includes(controller));
      const path = ownPath(own, controller);
      return [controller, mount && path !== undefined ? (seenAt(mount, path) ?? mount.at) : undefined] as const;
    });
    if (found.some(([, folder]) => folder === undefined)) return undefined;
    const bases = Object.fromEntries(found) as Bases;
    const counting = hierarchies.find(({ options }) => options.includes("cpuacct"));
    const path = ownPath(own, "cpuacct");
    if (counting && path !== undefined) bases.cpuacct = seenAt(counting, path) ?? counting.at;
    return bases;
  }

  static async open(places: Bases, name: string, clock: Clock): Promise<CgroupsV1> {
    const counting = places.cpuacct === places.cpu ? [] : [places.cpuacct].filter((place) => place !== undefined);
    const bases = [...CONTROLLERS.map((controller) => places[controller]), ...counting];
    const cgroups = CgroupsV1.at(
      bases.map((place) => join(place, name)),
      clock,
    );
    for (const base of cgroups.bases) await makeFolder(base);
    return cgroups;
  }

  /** The groups that an earlier process of the server used. */
  static at(bases: readonly string[], clock: Clock): CgroupsV1 {
    const named = Object.fromEntries(CONTROLLERS.map((one, index) => [one, bases[index]])) as Bases;
    const cpuacct = bases[CONTROLLERS.length];
    return new CgroupsV1({ ...named, ...(cpuacct !== undefined && { cpuacct }) }, clock);
  }

  get bases(): string[] {
    const { cpuacct } = this.#bases;
    return [...CONTROLLERS.map((controller) => this.#bases[controller]), ...(cpuacct === undefined ? [] : [cpuacct])];
  }

  folders(id: string): string[] {
    return this.bases.map((base) => join(base, id));
  }

  async create(id: string, { memoryMb, vcpu }: InstanceLimits): Promise<void> {
    for (const folder of this.folders(id)) await makeFolder(folder);
    const bytes = String(memoryMb * 1_048_576);
    writeNow(this.#file("memory", id, "memory.limit_in_bytes"), bytes);
    writeNow(this.#file("cpu", id, "cpu.cfs_period_us"), String(PERIOD_US));
    writeNow(this.#file("cpu", id, "cpu.cfs_quota_us"), String(Math.round(vcpu * PERIOD_US)));
    writeNow(this.#file("pids", id, "pids.max"), String(MOST_PROCESSES));
    // Limiting memory and swap together to the same value forbids swap. The file is absent where the kernel does not count swap.
    await writeIfThere(this.#file("memory", id, "memory.memsw.limit_in_bytes"), bytes);
  }

  async processes(id: string): Promise<number[]> {
    return numbersIn(await readIfThere(this.#file("freezer", id, "cgroup.procs")));
  }

  /** The group is frozen first, so that it starts nothing while signals are sent. A frozen process ends only when it is thawed. */
  async kill(id: string): Promise<void> {
    await until(this.#clock, `ending ${id}`, async () => {
      await this.#setState(id, "FROZEN");
      const pids = await this.processes(id);
      for (const pid of pids) sendSignal(pid, "SIGKILL");
      await this.#setState(id, "THAWED");
      return pids.length === 0;
    });
  }

  async freeze(id: string): Promise<void> {
    // A group that could not be frozen at the first try stays FREEZING until it is asked again.
    await until(this.#clock, `freezing ${id}`, async () => {
      await write(this.#file("freezer", id, "freezer.state"), "FROZEN");
      return this.isFrozen(id);
    });
  }

  async thaw(id: string): Promise<void> {
    writeNowIfThere(this.#file("freezer", id, "freezer.state"), "THAWED");
  }

  async isFrozen(id: string): Promise<boolean> {
    return (await readIfThere(this.#file("freezer", id, "freezer.state"))).trim() === "FROZEN";
  }

  async outOfMemory(id: string): Promise<number> {
    const text = await readIfThere(this.#file("memory", id, "memory.oom_control"));
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  async usage(id: string): Promise<Usage> {
    return this.#meter.usage(id, {
      cpu: join(this.#bases.cpuacct ?? this.#bases.cpu, id, "cpuacct.usage"),
      memory: this.#file("memory", id, "memory.usage_in_bytes"),
      parts: this.#file("memory", id, "memory.stat"),
      cpuMsIn: (text) => numberIn(text) / 1e6,
      droppable: "total_inactive_file",
    });
  }

  async remove(id: string): Promise<void> {
    this.#meter.forget(id);
    await Promise.all(this.folders(id).map((folder) => removeFolder(this.#clock, folder)));
  }

  async list(): Promise<string[]> {
    const found = await Promise.all(this.bases.map(foldersIn));
    return [...new Set(found.flat())];
  }

  async close(): Promise<void> {
    if ((await this.list()).length > 0) return;
    await Promise.all(this.bases.map((base) => removeFolder(this.#clock, base)));
  }

  #setState(id: string, state: "FROZEN" | "THAWED"): Promise<void> {
    return writeIfThere(this.#file("freezer", id, "freezer.state"), state);
  }

  #file(controller: Controller, id: string, file = ""): string {
    return join(this.#bases[controller], id, file);
  }
}
