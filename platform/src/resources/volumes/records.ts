/** What is kept of network volumes, and of those that are gone until their contents are. */
import type { Clock } from "../../kernel/clock.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import { type KeptNetworkVolume, type KeptRemovedVolume, networkVolumes, removedVolumes } from "./model.ts";

/** Marks outlive the account whose volume they are about. */
const EVERYONE = "*";

export class VolumeRecords {
  readonly volumes: Collection<KeptNetworkVolume>;
  readonly removed: Collection<KeptRemovedVolume>;
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.volumes = new Collection(store, networkVolumes);
    this.removed = new Collection(store, removedVolumes);
  }

  async prepare(): Promise<void> {
    await this.volumes.prepare();
    await this.removed.prepare();
  }

  /** What the volumes of each machine may fill together. */
  async sizes(): Promise<ReadonlyMap<string, number>> {
    const sizes = new Map<string, number>();
    for await (const { doc } of this.volumes.all())
      if (doc.machine !== null) sizes.set(doc.machine, (sizes.get(doc.machine) ?? 0) + doc.size);
    return sizes;
  }

  /** What the volumes of an account may fill together. */
  async gbOf(account: string): Promise<number> {
    let sum = 0;
    for await (const { doc } of this.volumes.all({ account })) sum += doc.size;
    return sum;
  }

  /** To be committed with the removal of the volume's own record. */
  marking(id: string, machine: string | null): Write {
    return this.removed.inserting({ id, account: EVERYONE, createdAt: this.#clock.now(), doc: { machine } });
  }

  async removeAccount(account: string): Promise<void> {
    for await (const item of this.volumes.all({ account })) await this.#removeMarked(item);
  }

  /** One that another node removed meanwhile is marked already. */
  async #removeMarked({ id, doc }: Item<KeptNetworkVolume>): Promise<void> {
    try {
      await this.#store.commit([this.volumes.removing(id), this.marking(id, doc.machine)]);
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
    }
  }
}
