/** Stops Pods that nobody has used for as long as their owner allows. */

import type { Clock } from "../../../kernel/clock.ts";
import { because } from "../../../kernel/reason.ts";
import type { PodEndings } from "../endings.ts";
import type { PodInstance } from "../instance.ts";
import type { PodItem, PodRecords } from "../records.ts";
import type { PodFigures } from "./figures.ts";

export interface IdleParts {
  clock: Clock;
  endings: PodEndings;
  podRecords: PodRecords;
  figures: PodFigures;
  /** When somebody last used a port of a Pod through the proxy. Undefined if nobody did. */
  portUsedAt?: (pod: string) => number | undefined;
  /** Whether the machine belongs to this node. */
  isHere: (machine: string) => boolean;
}

const GRACE_MS = 10_000;

export class IdleStop {
  readonly #parts: IdleParts;

  constructor(parts: IdleParts) {
    this.#parts = parts;
  }

  /** Runs after each measurement of what Pods use. */
  async look(): Promise<void> {
    const { podRecords, isHere } = this.#parts;
    for await (const pod of podRecords.pods.all({ key: { name: "idles", value: "yes" } })) {
      const instance = await podRecords.instanceOf(pod);
      if (instance?.doc.state === "RUNNING" && isHere(instance.doc.machine ?? "")) await this.#lookAt(pod, instance);
    }
  }

  async #lookAt({ id, doc }: PodItem, instance: PodInstance): Promise<void> {
    const { clock, figures, portUsedAt, endings } = this.#parts;
    const usedAt = figures.usedAt(instance.id);
    if (usedAt === undefined || doc.idleTimeout === null || doc.locked) return;
    const lastAt = Math.max(usedAt, portUsedAt?.(id) ?? 0);
    if (clock.now() - lastAt < doc.idleTimeout * 1000) return;
    await endings.stopFor(id, because("idle-stopped", { seconds: doc.idleTimeout! }), GRACE_MS);
  }
}
