/** What an instance on this machine uses, read from the kernel's files without starting a program. */
import { stat, statfs } from "node:fs/promises";
import type { Clock } from "../../kernel/clock.ts";
import type { Stats } from "../../ports/compute/stats.ts";
import { GpuMeter } from "../machine/gpu-meter.ts";
import { type Identity, isAlive } from "../machine/processes.ts";
import type { Cgroups } from "./cgroups.ts";
import type { Device } from "./gpus.ts";
import type { HostInstance } from "./host-instance.ts";
import type { Launcher } from "./launcher.ts";

const MIB = 1_048_576;
/** The folders in the sandbox that are writable and belong to the program alone. */
const SCRATCH = ["tmp", "dev/shm"];

/**
 * A measured disk size is kept this long: measuring takes several calls for each of hundreds of instances, and nobody needs it every few
 * seconds.
 */
const DISK_FOR_MS = 30_000;

interface Insider extends Identity {
  /** Whether its disk is a file system, so that its size is known. */
  hasDisk: boolean;
}

export interface HostStatsParts {
  cgroups: Cgroups | undefined;
  /** The machine's GPUs. */
  gpus: readonly Device[];
  launcher: Launcher;
  clock: Clock;
}

export class HostStats {
  readonly #parts: HostStatsParts;
  readonly #gpus: GpuMeter;
  /** One process inside each instance's sandbox. */
  readonly #insiders = new WeakMap<HostInstance, Insider>();
  readonly #disks = new WeakMap<HostInstance, { at: number; bytes: number }>();

  constructor(parts: HostStatsParts) {
    this.#parts = parts;
    this.#gpus = new GpuMeter(parts.clock);
  }

  async of(instance: HostInstance | undefined): Promise<Stats | undefined> {
    const { cgroups, gpus: all, clock } = this.#parts;
    if (!instance || instance.isEnded || !cgroups) return undefined;
    const { memoryMb, gpus: ids } = instance.kept;
    // A machine has many GPUs, and most programs none.
    const held = ids.length === 0 ? [] : all.filter(({ id }) => ids.includes(id));
    const usage = await cgroups.usage(instance.id);
    const diskBytes = await this.#diskBytes(instance);
    const gpus = held.length === 0 ? [] : await this.#gpus.of(held);
    // The control groups disappear with the instance, so the values just read are worthless.
    if (instance.isEnded) return undefined;
    const disk = diskBytes !== undefined && { diskBytes };
    return { at: clock.now(), ...usage, memoryLimitBytes: memoryMb * MIB, ...disk, gpus };
  }

  /** Unknown without a sandbox, where a program can write anywhere, and unknown to a server that cannot look into sandboxes. */
  async #diskBytes(instance: HostInstance): Promise<number | undefined> {
    const known = this.#disks.get(instance);
    if (known && this.#parts.clock.monotonic() - known.at < DISK_FOR_MS) return known.bytes;
    const bytes = await this.#readDiskBytes(instance);
    if (bytes !== undefined) this.#disks.set(instance, { at: this.#parts.clock.monotonic(), bytes });
    return bytes;
  }

  async #readDiskBytes(instance: HostInstance): Promise<number | undefined> {
    if (!this.#parts.launcher.changesUser) return undefined;
    // Nothing is waited for: figures come again soon, and everything that keeps the machine comes after them.
    const insider = this.#insiders.get(instance) ?? (await findInsider(instance));
    if (!insider) return undefined;
    this.#insiders.set(instance, insider);
    const root = rootOf(insider);
    if (!insider.hasDisk) return undefined;
    const used = SCRATCH.map(async (name) => {
      const { bsize, blocks, bfree } = await statfs(`${root}/${name}`);
      return bsize * (blocks - bfree);
    });
    const sizes = await Promise.all(used).catch(() => undefined);
    // If the process is still the same, its number was not reused and the sizes are the instance's.
    return sizes && (await isAlive(insider)) ? sizes.reduce((sum, size) => sum + size, 0) : undefined;
  }
}

/** Nothing can be mounted in a sandbox after its start, so one look at its disk is enough. */
async function findInsider(instance: HostInstance): Promise<Insider | undefined> {
  const program = (await instance.firstProcessesNow())?.program;
  if (!program) return undefined;
  // Where `/tmp` is a folder of the machine's own disk, its size could only be found by counting all files.
  const places = [`${rootOf(program)}/tmp`, instance.folder.path].map((path) => stat(path));
  const [scratch, machine] = await Promise.all(places).catch(() => []);
  return scratch && machine && { ...program, hasDisk: scratch.dev !== machine.dev };
}

const rootOf = ({ pid }: Identity) => `/proc/${pid}/root`;
