/** Records when the machines of Pods fall silent and are heard of again. Nothing is metered in between. */
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

  /**
   * Stops metering instances from the last moment their machine was heard of. If somebody else changed a record first, the next look tries
   * again.
   */
  async note(): Promise<void> {
    const { podRecords, silentSince } = this.#parts;
    for (const item of await podRecords.allInstances()) {
      const since = silentSince(item.doc.machine);
      // Each silence is recorded once. If its end is recorded, the machine has been heard of since, and this node will see that soon.
      if (since === undefined || isUnheard(item.doc) || item.doc.unheard?.since === since) continue;
      await podRecords.instances.patch(item, { unheard: { since, until: null } }, { at: since });
    }
  }

  /** Called by the node of this machine. What runs there is metered again from now on. */
  async heardAgain(machine: string): Promise<void> {
    const { podRecords, clock } = this.#parts;
    for (const item of await podRecords.ofMachine(machine)) {
      const { unheard } = item.doc;
      if (unheard?.until !== null) continue;
      await podRecords.instances.patch(item, { unheard: { ...unheard, until: clock.now() } });
    }
  }
}
