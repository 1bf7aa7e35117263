/** The GPUs of one machine, given out to the instances of all its drivers, so that no two ever hold the same device. */
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { type Gpu, type GpuStock, type GpuWish, StartRefused } from "./compute.ts";

/** The devices of a driver's instances that have not ended. */
export type Held = () => Promise<readonly string[]>;

export class Devices {
  readonly all: readonly Gpu[];
  readonly #held: Held[] = [];
  /** Of starts that are under way: no driver may know them yet. */
  readonly #promised = new Map<string, readonly Gpu[]>();
  readonly #choosing = new OneAtATime();

  constructor(all: readonly Gpu[]) {
    this.all = all;
  }

  /** A driver says what its instances hold, whichever process started them. */
  heldBy(held: Held): void {
    this.#held.push(held);
  }

  /** Begins an instance with devices that nobody else gets. Rejects with StartRefused when too few are free. */
  async give<T>(id: string, wish: GpuWish | undefined, begin: (devices: readonly Gpu[]) => Promise<T>): Promise<T> {
    if (!wish || wish.count === 0) return begin([]);
    const devices = await this.#choosing.run(() => this.#choose(id, wish));
    try {
      return await begin(devices);
    } finally {
      this.#promised.delete(id);
    }
  }

  stock(): GpuStock[] {
    const byType = Map.groupBy(this.all, ({ type }) => type);
    return [...byType].map(([type, gpus]) => ({ type, count: gpus.length, virtual: gpus[0]!.virtual }));
  }

  async #choose(id: string, { type, count }: GpuWish): Promise<readonly Gpu[]> {
    // Those promised first: a start that ends meanwhile is known to its driver by then.
    const promised = [...this.#promised.values()].flat().map((gpu) => gpu.id);
    const held = new Set([...promised, ...(await Promise.all(this.#held.map((of) => of()))).flat()]);
    const ofType = this.all.filter((gpu) => gpu.type === type);
    const free = ofType.filter((gpu) => !held.has(gpu.id));
    if (free.length < count)
      throw new StartRefused(`needs ${count}x ${type}, ${free.length} of ${ofType.length} are free on this machine`);
    const chosen = free.slice(0, count);
    this.#promised.set(id, chosen);
    return chosen;
  }
}
