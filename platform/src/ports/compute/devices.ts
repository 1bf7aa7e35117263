/** Assigns the GPUs of one machine to the instances of all its drivers, so that no two instances ever hold the same device. */
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { type Gpu, type GpuStock, type GpuWish, StartRefused } from "./compute.ts";

/** Returns the devices of a driver's instances that have not ended. */
export type Held = () => Promise<readonly string[]>;

export class Devices {
  readonly all: readonly Gpu[];
  readonly #held: Held[] = [];
  /** Devices of starts that are under way, which their driver may not report yet. */
  readonly #promised = new Map<string, readonly Gpu[]>();
  readonly #choosing = new OneAtATime();

  constructor(all: readonly Gpu[]) {
    this.all = all;
  }

  /** Registers a driver's report of the devices that its instances hold, whichever process started them. */
  heldBy(held: Held): void {
    this.#held.push(held);
  }

  /** Starts an instance with devices that no other instance gets. Rejects with StartRefused when too few are free. */
  async give<T>(id: string, wish: GpuWish | undefined, begin: (devices: readonly Gpu[]) => Promise<T>): Promise<T> {
    if (!wish || wish.count === 0) return begin([]);
    const devices = await this.#choosing.run(() => this.#choose(id, wish));
    try {
      return await begin(devices);
    } finally {
      this.#promised.delete(id);
    }
  }

  /** Like `give`, but for exactly the devices that an instance had before. */
  async giveAgain<T>(id: string, ids: readonly string[], begin: () => Promise<T>): Promise<T> {
    if (ids.length === 0) return begin();
    await this.#choosing.run(() => this.#retake(id, ids));
    try {
      return await begin();
    } finally {
      this.#promised.delete(id);
    }
  }

  stock(): GpuStock[] {
    const byType = Map.groupBy(this.all, ({ type }) => type);
    return [...byType].map(([type, gpus]) => ({ type, count: gpus.length, virtual: gpus[0]!.virtual }));
  }

  async #choose(id: string, { type, count }: GpuWish): Promise<readonly Gpu[]> {
    const held = await this.#taken();
    const ofType = this.all.filter((gpu) => gpu.type === type);
    const free = ofType.filter((gpu) => !held.has(gpu.id));
    if (free.length < count)
      throw new StartRefused(`needs ${count}x ${type}, ${free.length} of ${ofType.length} are free on this machine`, {
        reason: "gpu-in-use",
      });
    const chosen = free.slice(0, count);
    this.#promised.set(id, chosen);
    return chosen;
  }

  async #retake(id: string, ids: readonly string[]): Promise<void> {
    const held = await this.#taken();
    const lost = ids.find((one) => held.has(one) || !this.all.some((gpu) => gpu.id === one));
    if (lost !== undefined)
      throw new StartRefused(`the GPU that it had, ${lost}, is in use by another or gone`, { reason: "gpu-in-use" });
    this.#promised.set(
      id,
      this.all.filter((gpu) => ids.includes(gpu.id)),
    );
  }

  /** Promised devices are read first: if a start ends while the drivers are asked, its driver already reports the device. */
  async #taken(): Promise<ReadonlySet<string>> {
    const promised = [...this.#promised.values()].flat().map((gpu) => gpu.id);
    return new Set([...promised, ...(await Promise.all(this.#held.map((of) => of()))).flat()]);
  }
}
