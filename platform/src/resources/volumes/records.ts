/** The records of network volumes, and the marks of deleted volumes whose contents are not removed yet. */
import type { Clock } from "../../kernel/clock.ts";
import { commitMetered } from "../../metering/commit.ts";
import { Meter, type Metered, meteringIn, type OnRecord, type WhatOf } from "../../metering/meter.ts";
import type { PricesInTime } from "../../metering/prices.ts";
import { Collection, type Decision, type Item } from "../../ports/store/collection.ts";
import type { Bound, Store, Write } from "../../ports/store/store.ts";
import {
  type KeptNetworkVolume,
  type KeptRemovedVolume,
  type KeptVolumeUse,
  networkVolumes,
  removedVolumes,
  volumeUses,
} from "./model.ts";

export type VolumeItem = Item<KeptNetworkVolume>;

type Decide = (
  item: VolumeItem,
) => Decision<KeptNetworkVolume> | undefined | Promise<Decision<KeptNetworkVolume> | undefined>;

/** No volume ever has this many writers at once. */
const MOST_TRIES = 1000;

/** The account of the marks, since a mark outlives the account that owned its volume. */
const EVERYONE = "*";

export class VolumeRecords {
  readonly volumes: Collection<KeptNetworkVolume>;
  readonly removed: Collection<KeptRemovedVolume>;
  readonly uses: Collection<KeptVolumeUse>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #meter: Meter<KeptNetworkVolume>;

  constructor({ store, clock, prices }: { store: Store; clock: Clock; prices?: PricesInTime | undefined }) {
    this.#store = store;
    this.#meter = new Meter(store, payable, prices);
    this.#clock = clock;
    this.volumes = new Collection(store, networkVolumes);
    this.removed = new Collection(store, removedVolumes);
    this.uses = new Collection(store, volumeUses);
  }

  async prepare(): Promise<void> {
    await this.volumes.prepare();
    await this.removed.prepare();
    await this.uses.prepare();
  }

  /** The total size of the volumes on each machine, in GB. */
  async sizes(): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>();
    for await (const { doc } of this.volumes.all())
      if (doc.machine !== null) sizes.set(doc.machine, (sizes.get(doc.machine) ?? 0) + doc.size);
    return sizes;
  }

  /** Records what a volume was counted to hold, if that is news. */
  async noteUsed({ id, account, createdAt }: VolumeItem, bytes: number | undefined): Promise<void> {
    const before = await this.uses.get(id);
    if (before && before.doc.bytes === bytes) return;
    await this.uses.put({ id, account, createdAt, doc: bytes === undefined ? {} : { bytes } });
    // A volume that was deleted meanwhile has taken its count with it.
    if (!(await this.volumes.get(id))) await this.uses.removeIfThere(id);
  }

  /** Inserts a volume and starts to meter it. */
  async insert(volume: OnRecord<KeptNetworkVolume>, within?: readonly Bound[]): Promise<VolumeItem> {
    const { doc, writes } = this.#meter.begin(volume);
    const [record] = await this.#store.commit([this.volumes.inserting({ ...volume, doc }, within), ...writes]);
    return this.volumes.read(record!);
  }

  /**
   * Changes or removes a volume as `decide` says, and commits what is metered of it together with that. If somebody else changed the volume
   * meanwhile, `decide` is asked again. Returns undefined when the volume does not exist (any more).
   */
  async change(id: string, decide: Decide): Promise<VolumeItem | undefined> {
    for (let left = MOST_TRIES; left > 0; left--) {
      const item = await this.volumes.get(id);
      const decision = item && (await decide(item));
      if (!decision) return item;
      const written = await commitMetered(this.#store, [...this.#own(item, decision), ...(decision.also ?? [])]);
      if (written) return this.volumes.read(written[0]!);
    }
    throw new Error(`network volume ${id} could not be changed: other requests changed it at the same time`);
  }

  /** Like `change`, but throws unless the volume belongs to the account. */
  async changeOwned({ account }: { account: string }, id: string, decide: Decide): Promise<VolumeItem> {
    const changed = await this.change(id, (item) => {
      if (item.account !== account) throw this.volumes.notFound();
      return decide(item);
    });
    if (!changed) throw this.volumes.notFound();
    return changed;
  }

  /** Meters the volume at the current prices from the moment they apply. A volume that was not metered yet is metered from now on. */
  async renew(id: string): Promise<void> {
    for (;;) {
      const item = await this.volumes.get(id);
      if (!item || !this.#meter.isOutdated(item, this.#clock.now())) return;
      if (await commitMetered(this.#store, this.#own(item, { set: {} }, { renewed: true }))) return;
    }
  }

  /** The first write returned is that of the volume's own record, since callers read the result of the commit from it. */
  #own(item: VolumeItem, decision: Decision<KeptNetworkVolume>, metered: Metered = {}): Write[] {
    const now = this.#clock.now();
    if ("remove" in decision) return [this.volumes.removing(item.id, item.version), ...this.#meter.end(item, now)];
    const { doc, writes } = this.#meter.move(item, { ...item.doc, ...decision.set }, now, metered);
    return [this.volumes.patching(item, { ...decision.set, ...meteringIn(doc) }, [], decision.within), ...writes];
  }

  /** Commit this write together with the removal of the volume's record. */
  marking(id: string, machine: string | null): Write {
    return this.removed.inserting({ id, account: EVERYONE, createdAt: this.#clock.now(), doc: { machine } });
  }

  async removeAccount(account: string): Promise<void> {
    for await (const item of this.volumes.all({ account })) await this.#removeMarked(item);
  }

  /** If another node removed the volume meanwhile, that node has also marked it. */
  async #removeMarked({ id, doc }: VolumeItem): Promise<void> {
    await this.change(id, () => ({ remove: true, also: [this.marking(id, doc.machine)] }));
  }
}

/** A volume is paid for by its size, whether anything uses it or not. */
const payable: WhatOf<KeptNetworkVolume> = ({ id, doc }) => ({
  ...{ instance: id, kind: "volume", owner: id, createdBy: doc.createdBy ?? null, phase: "kept" },
  ...{ gpuType: null, gpuCount: 0, flavor: null, vcpu: 0, memoryMb: 0, diskGb: doc.size, tier: doc.type },
  ...{ dataCenter: doc.dataCenter, image: "", template: null },
});
