/** Puts on record which Pods' machines are not heard of, and which are heard of again: nothing is metered in between. */
import type { Clock } from "../../../kernel/clock.ts";
import { isUnheard } from "../../../machines/instances.ts";
import type { SilentSince } from "../../../machines/silences.ts";
import type { PodRecords } from "../records.ts";

export interface UnheardParts {
  podRecords: PodRecords;
  clock: Clock;
  silentSince: SilentSince;
}

export class Unheard {
  readonly #parts: UnheardParts;

  constructor(parts: UnheardParts) {
    this.#parts = parts;
  }

  /** What cost something until its machine fell silent costs nothing from its last word on. A write that somebody else was faster with is left to the next look. */
  async note(): Promise<void> {
    const { podRecords, silentSince } = this.#parts;
    for (const item of await podRecords.allInstances()) {
      const since = silentSince(item.doc.machine);
      // One silence is noted once: where its end is on record, the machine has spoken since, and is about to be heard here.
      if (since === undefined || isUnheard(item.doc) || item.doc.unheard?.since === since) continue;
      await podRecords.instances.patch(item, { unheard: { since, until: null } }, { at: since });
    }
  }

  /** By the node of these machines, which hears of them. What runs there is metered again from now on. */
  async heardAgain(machine: string): Promise<void> {
    const { podRecords, clock } = this.#parts;
    for (const item of await podRecords.ofMachine(machine)) {
      const { unheard } = item.doc;
      if (unheard?.until !== null) continue;
      await podRecords.instances.patch(item, { unheard: { ...unheard, until: clock.now() } });
    }
  }
}
