/** The machines that run workers: this node's own, and those of other nodes as they last said. */
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import type { Capacity, Compute } from "../ports/compute/compute.ts";
import { Collection } from "../ports/store/collection.ts";
import { type Store, WriteRefused } from "../ports/store/store.ts";
import type { Machine } from "./placer.ts";

export type KeptMachine = { capacity: Capacity };
/** Apart from the machine, since it is written often and a machine may have thousands of devices. */
export type Sighting = { seenAt: number; activeAt: Record<string, number> };

export const machines: Kept<KeptMachine> = { kind: "machine", v: 1 };
export const sightings: Kept<Sighting> = { kind: "machine-seen", v: 1 };

/** Machines belong to the installation, not to an account. */
const EVERYONE = "*";
const BEAT_MS = 5000;
/** A machine that was not heard of for this long is gone, and so is all that ran there. */
const GONE_AFTER_MS = 30_000;

/** Who is there, and when workers were last active, as far as other nodes must be asked for it. */
export interface Roll {
  machines: Machine[];
  activeAt: ReadonlyMap<string, number>;
}

export interface MachinesParts {
  store: Store;
  clock: Clock;
  /** This node's own driver, if it runs workers. */
  own: { id: string; compute: Compute } | undefined;
  /** This process is all there is: nobody else must be told or asked. */
  alone: boolean;
  /** When workers of this node were last active. */
  activity: () => Promise<Record<string, number>>;
}

export class Machines {
  readonly #machines: Collection<KeptMachine>;
  readonly #sightings: Collection<Sighting>;
  readonly #parts: MachinesParts;
  #capacity: Capacity | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;
  /** What each of the others last said, and when that was noticed here: no two machines' clocks must agree. */
  readonly #heardOf = new Map<string, { seenAt: number; noticedAt: number }>();

  constructor(parts: MachinesParts) {
    this.#parts = parts;
    this.#machines = new Collection(parts.store, machines);
    this.#sightings = new Collection(parts.store, sightings);
  }

  async prepare(): Promise<void> {
    await this.#machines.prepare();
    await this.#sightings.prepare();
  }

  /** Looks at this node's own machine, and says that it is there. */
  async beat(now: number): Promise<void> {
    const { own, alone, clock, activity } = this.#parts;
    if (!own || clock.monotonic() - this.#saidAt < BEAT_MS) return;
    const capacity = await own.compute.capacity();
    const changed = JSON.stringify(capacity) !== JSON.stringify(this.#capacity);
    if (changed) await put(this.#machines, own.id, now, { capacity });
    this.#capacity = capacity;
    if (!alone) await put(this.#sightings, own.id, now, { seenAt: now, activeAt: await activity() });
    this.#saidAt = clock.monotonic();
  }

  async roll(): Promise<Roll> {
    const { own, alone } = this.#parts;
    const mine = own && this.#capacity ? [{ id: own.id, capacity: this.#capacity }] : [];
    if (alone) return { machines: mine, activeAt: new Map() };
    const activeAt = new Map<string, number>();
    const others: Machine[] = [];
    for await (const { id, doc } of this.#sightings.all()) {
      if (id === own?.id || this.#isGone(id, doc.seenAt)) continue;
      const machine = await this.#machines.get(id);
      if (machine) others.push({ id, capacity: machine.doc.capacity });
      for (const [worker, at] of Object.entries(doc.activeAt)) activeAt.set(worker, at);
    }
    return { machines: [...mine, ...others], activeAt };
  }

  #isGone(id: string, seenAt: number): boolean {
    const nowMs = this.#parts.clock.monotonic();
    const heard = this.#heardOf.get(id);
    if (heard?.seenAt === seenAt) return nowMs - heard.noticedAt > GONE_AFTER_MS;
    this.#heardOf.set(id, { seenAt, noticedAt: nowMs });
    return false;
  }
}

/** Writes what this node says of its own machine. */
async function put<T extends Record<string, unknown>>(
  collection: Collection<T>,
  id: string,
  now: number,
  doc: T,
): Promise<void> {
  const known = await collection.get(id);
  try {
    if (known) await collection.patch(known, doc);
    else await collection.insert({ id, account: EVERYONE, createdAt: now, doc });
  } catch (error) {
    // Only this node writes about its machine: someone else did so under the same name, and will not for long.
    if (!(error instanceof WriteRefused)) throw error;
  }
}
