/** Makes the volumes of this node's machines match their records: creates, grows and deletes them. Each step is safe to repeat. */

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
  /**
   * Instances on any machine that may have the volume mounted. A driver sees only its own machine, so it cannot know all users of shared
   * storage.
   */
  mountedBy: (volume: string) => Promise<readonly string[]>;
}

const LOOK_MS = 5000;
const KEEP = "keep volumes";
/** The files of a large volume are removed within a run. */
const LONGEST_MS = 3_600_000;
const TOPIC = "fleet:volumes";

export class VolumeCare implements VolumeUpkeep, AsyncDisposable {
  readonly #parts: VolumeCareParts;
  readonly #turns = new OneAtATimeEach();
  readonly #looking: Duty;
  readonly #stopListening: () => void;

  constructor(parts: VolumeCareParts) {
    this.#parts = parts;
    const { clock, signals, failed } = parts;
    this.#looking = every(clock, { name: KEEP, everyMs: LOOK_MS, longestMs: LONGEST_MS }, () => this.#look(), failed);
    this.#stopListening = signals.listen(TOPIC, () => floating(this.#looking.soon(), named(failed, KEEP)));
    floating(this.#looking.soon(), named(failed, KEEP));
  }

  /**
   * Brings this volume up to date. On a machine of this node that is done before this resolves; otherwise this notifies the other nodes.
   */
  async tend(id: string): Promise<void> {
    const { records, signals, failed } = this.#parts;
    const item = await records.volumes.get(id);
    if (item && this.#storageOf(item.doc.machine)) await this.ensure(id).catch(named(failed, KEEP));
    else signals.emit(TOPIC);
  }

  /** Creates or grows the volume until it matches its record. This runs before a program that mounts the volume starts. */
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
      // A failure at one volume must not hold up the others.
      for await (const { id } of records.volumes.all({ key })) await this.ensure(id).catch(named(failed, KEEP));
      for await (const { id, doc } of records.removed.all({ key }))
        await this.#clear(id, doc.machine).catch(named(failed, KEEP));
    }
  }

  /** This node's machines, plus the shared storage if one of them has it. */
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
    // A volume that existed and is gone is never created again: an empty one would hide that its contents are lost.
    if (!doc.made) await storage.create({ id, sizeGb: doc.size, ...(doc.machine === null && { shared: true }) });
    const found = await storage.find(id);
    if (found && found.sizeGb < doc.size) await storage.grow(id, doc.size);
    const { sizeEnforced } = (await storage.find(id)) ?? lost(id);
    const made = { size: doc.size, sizeEnforced };
    const known = await this.#parts.records.change(id, () => ({ set: { made } }));
    // The volume was deleted meanwhile. The clearing may have looked for it before it existed, so it is removed here.
    if (!known) await storage.remove(id);
  }

  async #clear(id: string, machine: string | null): Promise<void> {
    const { records, mountedBy, log } = this.#parts;
    const storage = this.#storageOf(machine);
    if (!storage || (await mountedBy(id)).length > 0) return;
    try {
      await storage.remove(id);
    } catch (error) {
      // An instance that is still ending has it mounted. The mark stays, so the next look tries again.
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
