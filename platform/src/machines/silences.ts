/** Which nodes and machines are silent, as this node sees it by its own clock. */
import { type Clock, timestamp } from "../kernel/clock.ts";
import { because, type Reason } from "../kernel/reason.ts";

/**
 * After this long, nothing that runs on a node's machines is counted on. A node reports every 5 s and the others check once a second, so a
 * silent machine is reported as silent within 15 s of its last report.
 */
const SILENT_AFTER_MS = 14_000;
/** A node that was silent for this long is gone, and so is everything on its machines. */
export const GONE_AFTER_MS = 30_000;
/** How much the clocks of two nodes may differ. Passes between nodes have the same limit. */
const CLOCKS_DIFFER_MS = 30_000;

export interface Silence {
  /** When the node last reported, by its own clock. */
  since: number;
  /** The silence is so long that nobody waits for the node any more. */
  isGone: boolean;
}

/** Returns since when a machine is silent, or undefined if it is not or if there is no machine. */
export type SilentSince = (machine: string | null) => number | undefined;

/** The reason for not knowing what runs on a machine. */
export const silenceOf = (machine: string, since: number): Reason =>
  because("machine-silent", { machine, since: timestamp(since) });

export class Silences {
  readonly #clock: Clock;
  /** The time in each node's last report, and when this node noticed it. So the nodes' clocks need not agree. */
  readonly #heardOf = new Map<string, { seenAt: number; noticedAt: number }>();
  /** The time in the last report of each silent node. Only a new report ends the silence. */
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

  /** Called at each look with the time of a node's last report by its own clock. Returns undefined if the node is not silent. */
  look(node: string, seenAt: number): Silence | undefined {
    const silentMs = this.#silentMs(node, seenAt);
    if (this.#lastWords.get(node) !== seenAt) this.#lastWords.delete(node);
    // A new process cannot have heard the node yet, so an old report counts as silence only if clocks cannot differ by that much.
    const isOld = !this.#hasLooked && this.#clock.now() - seenAt > SILENT_AFTER_MS + CLOCKS_DIFFER_MS;
    if (isOld || silentMs >= SILENT_AFTER_MS) this.#lastWords.set(node, seenAt);
    return this.#lastWords.has(node) ? { since: seenAt, isGone: silentMs > GONE_AFTER_MS } : undefined;
  }

  /** All nodes were checked, and these machines are silent. */
  looked(machines: ReadonlyMap<string, Silence>): void {
    this.#hasLooked = true;
    this.#machines = machines;
  }

  /** While the store cannot be read, no node counts as gone: the wait for each starts again. Nodes that were silent before stay silent. */
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
