/** Which nodes, and with them which machines, are silent: as this node sees it, by its own clock. */
import { type Clock, timestamp } from "../kernel/clock.ts";
import { because, type Reason } from "../kernel/reason.ts";

/**
 * After this long nothing that runs on the machines of a node is counted on. A node speaks every 5 s, and the others look once a
 * second: a machine says within 15 s of its last word that it is silent.
 */
const SILENT_AFTER_MS = 14_000;
/** A node that was not heard of for this long is gone, and so is all that ran on its machines. */
export const GONE_AFTER_MS = 30_000;
/** By how much the clocks of two nodes may differ: passes between nodes allow no more either. */
const CLOCKS_DIFFER_MS = 30_000;

export interface Silence {
  /** When it was last heard of, by its own clock. */
  since: number;
  /** For so long that nobody waits for it. */
  isGone: boolean;
}

/** Since when a machine is silent; undefined while it is heard of, and for none. */
export type SilentSince = (machine: string | null) => number | undefined;

/** Why nobody knows what runs there. */
export const silenceOf = (machine: string, since: number): Reason =>
  because("machine-silent", { machine, since: timestamp(since) });

export class Silences {
  readonly #clock: Clock;
  /** What each node last said, and when that was noticed here: no two nodes' clocks must agree. */
  readonly #heardOf = new Map<string, { seenAt: number; noticedAt: number }>();
  /** What those that are silent said last: only a new word ends it. */
  readonly #lastWords = new Map<string, number>();
  #machines: ReadonlyMap<string, Silence> = new Map();
  #hasLooked = false;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  readonly since: SilentSince = (machine) => (machine === null ? undefined : this.#machines.get(machine)?.since);

  of(machine: string): Silence | undefined {
    return this.#machines.get(machine);
  }

  /** For each look: what a node last said, by its clock. Undefined when it was heard of lately. */
  look(node: string, seenAt: number): Silence | undefined {
    const silentMs = this.#silentMs(node, seenAt);
    if (this.#lastWords.get(node) !== seenAt) this.#lastWords.delete(node);
    // A process that has only begun cannot have heard it: what is older than clocks can differ is believed.
    const isOld = !this.#hasLooked && this.#clock.now() - seenAt > SILENT_AFTER_MS + CLOCKS_DIFFER_MS;
    if (isOld || silentMs >= SILENT_AFTER_MS) this.#lastWords.set(node, seenAt);
    return this.#lastWords.has(node) ? { since: seenAt, isGone: silentMs > GONE_AFTER_MS } : undefined;
  }

  /** All nodes were looked at, and these of their machines are silent. */
  looked(machines: ReadonlyMap<string, Silence>): void {
    this.#hasLooked = true;
    this.#machines = machines;
  }

  /** While the store cannot be read, no node counts as gone: each is waited for anew. Those that were silent before stay so. */
  couldNotLook(): void {
    this.#heardOf.clear();
  }

  #silentMs(node: string, seenAt: number): number {
    const nowMs = this.#clock.monotonic();
    const heard = this.#heardOf.get(node);
    if (heard?.seenAt === seenAt) return nowMs - heard.noticedAt;
    this.#heardOf.set(node, { seenAt, noticedAt: nowMs });
    return 0;
  }
}
