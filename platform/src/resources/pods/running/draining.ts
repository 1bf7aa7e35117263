/** Stops interruptible Pods on machines that are being drained. Each look is safe to repeat. */
import { because, reworded } from "../../../kernel/reason.ts";
import type { Drains } from "../../../machines/drains.ts";
import type { PodEndings } from "../endings.ts";
import { staysFor } from "../leaving.ts";
import type { PodRecords } from "../records.ts";

export interface DrainingParts {
  drains: Pick<Drains, "all">;
  podRecords: PodRecords;
  endings: Pick<PodEndings, "stopFor">;
}

const GRACE_MS = 10_000;

export class Draining {
  readonly #parts: DrainingParts;

  constructor(parts: DrainingParts) {
    this.#parts = parts;
  }

  async look(): Promise<void> {
    const { drains, podRecords, endings } = this.#parts;
    const draining = await drains.all();
    if (draining.size === 0) return;
    for (const instance of await podRecords.allInstances()) {
      const { machine, owner } = instance.doc;
      if (machine === null || !draining.has(machine)) continue;
      if (staysFor(instance, await podRecords.pods.get(owner)) === undefined)
        await endings.stopFor(owner, interruptedBy(machine), GRACE_MS);
    }
  }
}

const interruptedBy = (machine: string) =>
  reworded(because("machine-drained", { machine }), (text) => `interrupted: ${text}`);
