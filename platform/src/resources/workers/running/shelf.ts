/** The frozen workers as a plan sees them: which may stay, which make room for others, and which end first. */

import { because, type Reason } from "../../../kernel/reason.ts";
import { placeOf } from "../../../machines/instances.ts";
import type { Need } from "../../../machines/need.ts";
import type { Place } from "../../../machines/place.ts";
import type { Room } from "../../../machines/room.ts";
import type { WorkerItem } from "../records.ts";

export interface ShelfLimits {
  /** How long a worker may stay frozen. */
  forMs: number;
  /** How much of a machine's memory its frozen workers may hold, by measurement. */
  memoryMb: (machine: string) => number;
}

export class Shelf {
  readonly #limits: ShelfLimits;
  readonly #room: Room;
  /** The places of workers that end and have no job. They will be free in a moment. */
  readonly #ending: readonly Place[];
  readonly #frozen: Set<WorkerItem>;

  constructor(frozen: readonly WorkerItem[], room: Room, ending: readonly Place[], limits: ShelfLimits) {
    this.#frozen = new Set(frozen);
    this.#room = room;
    this.#ending = ending;
    this.#limits = limits;
  }

  /**
   * Adds an idle worker, if necessary in place of less valuable ones. Returns the reason if there is no memory for it. A worker that was
   * never frozen is always tried: its memory is measured then, and it ends if that is too much.
   */
  put(worker: WorkerItem): { reason: Reason } | undefined {
    const machine = worker.doc.machine!;
    this.#frozen.add(worker);
    if (this.#limits.memoryMb(machine) > 0 && !this.#tooMany(machine).includes(worker)) return undefined;
    this.#frozen.delete(worker);
    return { reason: this.#boundOf(worker) };
  }

  has(worker: WorkerItem): boolean {
    return this.#frozen.has(worker);
  }

  take(worker: WorkerItem): void {
    this.#frozen.delete(worker);
  }

  isOver({ doc }: WorkerItem, now: number): boolean {
    return now - (doc.frozenAt ?? now) >= this.#limits.forMs;
  }

  /** Removes and returns the workers that memory no longer suffices for, with the reason. */
  letGoOverflow(): { worker: WorkerItem; reason: Reason }[] {
    const machines = new Set([...this.#frozen].map(({ doc }) => doc.machine!));
    const overflow = [...machines].flatMap((machine) =>
      this.#tooMany(machine).map((worker) => ({ worker, reason: this.#boundOf(worker) })),
    );
    for (const { worker } of overflow) this.take(worker);
    return overflow;
  }

  /**
   * Reserves a place that is free once the returned frozen workers are gone. It prefers to end only one. The list is empty if a place
   * becomes free anyway. Undefined if ending all of them would not make room.
   */
  makeRoom(need: Need): WorkerItem[] | undefined {
    const enough = (gone: readonly WorkerItem[]) =>
      this.#room.placeWithout([...this.#ending, ...gone.flatMap(placeOf)], need);
    const order = lettingGoOrder(this.#frozen);
    const one = order.find((worker) => enough([worker]));
    const gone = enough([]) ? [] : one ? [one] : several(order, enough);
    if (!gone) return undefined;
    this.#room.reserve(enough(gone)!);
    for (const worker of gone) this.take(worker);
    return gone;
  }

  /** The most valuable workers are kept while memory suffices. This returns the others. */
  #tooMany(machine: string): WorkerItem[] {
    let left = this.#limits.memoryMb(machine);
    const here = [...this.#frozen].filter(({ doc }) => doc.machine === machine);
    return lettingGoOrder(here)
      .reverse()
      .filter(({ doc }) => {
        const { heldMb = 0 } = doc;
        if (heldMb > left) return true;
        left -= heldMb;
        return false;
      });
  }

  #boundOf({ doc: { machine, heldMb } }: WorkerItem): Reason {
    const limitMb = this.#limits.memoryMb(machine!);
    return because("frozen-memory-full", { limitMb, ...(heldMb !== undefined && { heldMb }) });
  }
}

/**
 * The order in which frozen workers end: the longest frozen first, and PRIORITY_FLASHBOOT last. A worker that is not frozen yet counts as
 * the newest.
 */
function lettingGoOrder(workers: Iterable<WorkerItem>): WorkerItem[] {
  const since = ({ doc }: WorkerItem) => (doc.state === "FROZEN" ? (doc.frozenAt ?? 0) : Number.POSITIVE_INFINITY);
  const last = ({ doc }: WorkerItem) => (doc.keptLast ? 1 : 0);
  return [...workers].sort((a, b) => last(a) - last(b) || since(a) - since(b) || 0);
}

/** The first workers that make room together, without those that are not in the way. */
function several(
  order: readonly WorkerItem[],
  enough: (gone: readonly WorkerItem[]) => Place | undefined,
): WorkerItem[] | undefined {
  const count = order.findIndex((_, i) => enough(order.slice(0, i + 1)));
  if (count < 0) return undefined;
  let needed = order.slice(0, count + 1);
  for (const worker of needed) {
    const others = needed.filter((one) => one !== worker);
    if (enough(others)) needed = others;
  }
  return needed;
}
