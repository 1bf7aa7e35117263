/** Makes the volumes of this node's machines what their records say: made, grown, and gone with all they held. Each step is safe to repeat. */

import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import type { Log } from "../../kernel/log.ts";
import { OneAtATimeEach } from "../../kernel/one-at-a-time.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import { VolumeRefused, type Volumes } from "../../ports/compute/volumes.ts";
import type { Signals } from "../../ports/signals/signals.ts";
import { holderOf, SHARED_STORAGE } from "./model.ts";
import type { VolumeRecords } from "./records.ts";
import type { VolumeItem, VolumeUpkeep } from "./service.ts";

export interface VolumeCareParts {
  records: VolumeRecords;
  machines: readonly Pick<OwnMachine, "id" | "compute">[];
  signals: Signals;
  clock: Clock;
  log: Log;
  failed: Failed;
  /** Instances of any machine that may have a volume mounted: one on shared storage has users that its driver cannot see. */
  mountedBy: (volume: string) => Promise<readonly string[]>;
}

const LOOK_MS = 5000;
const KEEP = "keep volumes";
const TOPIC = "fleet:volumes";

export class VolumeCare implements VolumeUpkeep, AsyncDisposable {
  readonly #parts: VolumeCareParts;
  readonly #turns = new OneAtATimeEach();
  readonly #looking: Duty;
  readonly #stopListening: () => void;

  constructor(parts: VolumeCareParts) {
    this.#parts = parts;
    const { clock, signals, failed } = parts;
    this.#looking = every(clock, { name: KEEP, everyMs: LOOK_MS }, () => this.#look(), failed);
    this.#stopListening = signals.listen(TOPIC, () => floating(this.#looking.soon(), named(failed, KEEP)));
    floating(this.#looking.soon(), named(failed, KEEP));
  }

  /** Something is to be done about this volume: done before this resolves where it is on a machine of this node, else told to its node. */
  async tend(id: string): Promise<void> {
    const { records, signals, failed } = this.#parts;
    const item = await records.volumes.get(id);
    if (item && this.#storageOf(item.doc.machine)) await this.ensure(id).catch(named(failed, KEEP));
    else signals.emit(TOPIC);
  }

  /** Makes it as its record says, if it is not; before a program that mounts it is started. */
  ensure(id: string): Promise<void> {
    return this.#turns.run(id, async () => {
      const item = await this.#parts.records.volumes.get(id);
      if (item && item.doc.made?.size !== item.doc.size) await this.#make(item);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await this.#looking[Symbol.asyncDispose]();
  }

  async #look(): Promise<void> {
    const { records, failed } = this.#parts;
    for (const value of this.#holders()) {
      const key = { name: "due", value };
      // What fails for one must not keep the others waiting.
      for await (const { id } of records.volumes.all({ key })) await this.ensure(id).catch(named(failed, KEEP));
      for await (const { id, doc } of records.removed.all({ key }))
        await this.#clear(id, doc.machine).catch(named(failed, KEEP));
    }
  }

  /** Machines of this node, and the storage that one of them shares with others. */
  #holders(): string[] {
    const { machines } = this.#parts;
    const isShared = machines.some(({ compute }) => compute.volumes?.shared);
    return [...machines.map(({ id }) => holderOf(id)), ...(isShared ? [SHARED_STORAGE] : [])];
  }

  #storageOf(machine: string | null): Volumes | undefined {
    const isIt = ({ id, compute }: VolumeCareParts["machines"][number]) =>
      machine === null ? compute.volumes?.shared : id === machine;
    return this.#parts.machines.find(isIt)?.compute.volumes;
  }

  async #make({ id, doc }: VolumeItem): Promise<void> {
    const storage = this.#storageOf(doc.machine);
    if (!storage) return;
    // One that was there and is gone is never made anew: an empty one would hide that its contents are lost.
    if (!doc.made) await storage.create({ id, sizeGb: doc.size, ...(doc.machine === null && { shared: true }) });
    const found = await storage.find(id);
    if (found && found.sizeGb < doc.size) await storage.grow(id, doc.size);
    const { sizeEnforced } = (await storage.find(id)) ?? lost(id);
    const made = { size: doc.size, sizeEnforced };
    const known = await this.#parts.records.change(id, () => ({ set: { made } }));
    // Deleted meanwhile, and perhaps looked for by whoever clears it before it was there.
    if (!known) await storage.remove(id);
  }

  async #clear(id: string, machine: string | null): Promise<void> {
    const { records, mountedBy, log } = this.#parts;
    const storage = this.#storageOf(machine);
    if (!storage || (await mountedBy(id)).length > 0) return;
    try {
      await storage.remove(id);
    } catch (error) {
      // What still ends has it mounted. The mark stays, and the next look tries again.
      if (!(error instanceof VolumeRefused)) throw error;
      log.info({ volume: id }, `a deleted volume is kept for now: ${error.message}`);
      return;
    }
    await records.removed.removeIfThere(id);
  }
}

function lost(id: string): never {
  throw new Error(`network volume ${id} is not where it was made: its disk or shared folder may not be mounted`);
}
