/** The rules of network volumes. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { changedIn, isEmpty } from "../../kernel/same.ts";
import type { Static } from "../../kernel/schema.ts";
import type { Machine } from "../../machines/place.ts";
import type { RecordParts } from "../../ports/store/collection.ts";
import type { Bound, Write } from "../../ports/store/store.ts";
import type { Amount, QuotaBook } from "../account/quotas.ts";
import { Names, type Naming } from "../names.ts";
import type { SpendBook } from "../spending/service.ts";
import type { Uses } from "../uses.ts";
import { type KeptNetworkVolume, type KeptVolumeUse, NetworkVolume } from "./model.ts";
import type { VolumeItem, VolumeRecords } from "./records.ts";
import { refuseGrowth, siteFor, tierIn } from "./siting.ts";

export type { VolumeItem } from "./records.ts";
export type NewVolume = Static<typeof NetworkVolume.create>;
export type VolumeChange = Static<typeof NetworkVolume.update>;

export type LocatedVolume = { id: string } & Pick<KeptNetworkVolume, "dataCenter" | "machine">;

/** Where a volume is, for the instances that mount it. */
export interface VolumePlace {
  dataCenter: string;
  /** Absent for a volume on shared storage. */
  machine?: string;
}

export interface VolumeUpkeep {
  /** Brings a volume up to date. Where the volume is on this node, that is done when this resolves. */
  tend(id: string): Promise<void>;
  ensure(id: string): Promise<void>;
}

const LISTED_AT_MOST = 10_000;

export class NetworkVolumeService {
  readonly records: VolumeRecords;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #uses: Uses;
  readonly #quotas: QuotaBook;
  readonly #names: Names<KeptNetworkVolume>;
  readonly #spending: Pick<SpendBook, "assert">;
  readonly #machines: () => Promise<readonly Machine[]>;
  readonly #upkeep: VolumeUpkeep;

  constructor(
    parts: RecordParts & {
      uses: Uses;
      quotas: QuotaBook;
      spending: Pick<SpendBook, "assert">;
      uniqueNames?: boolean | undefined;
      volumeRecords: VolumeRecords;
      /** The machines that can hold volumes. */
      machines: () => Promise<readonly Machine[]>;
      /** Makes volumes match their records. */
      volumeUpkeep: VolumeUpkeep;
    },
  ) {
    this.#spending = parts.spending;
    this.#uses = parts.uses;
    this.#quotas = parts.quotas;
    this.records = parts.volumeRecords;
    this.#machines = parts.machines;
    this.#upkeep = parts.volumeUpkeep;
    const { random, uniqueNames: isKept = true } = parts;
    this.#names = new Names({ named: this.records.volumes, called: "network volume", random, isKept });
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  prepare(): Promise<void> {
    return this.records.prepare();
  }

  /** Makes sure that the volume exists and matches its record, before a program of this node mounts it. */
  ensure(id: string): Promise<void> {
    return this.#upkeep.ensure(id);
  }

  /** Lists the newest first. */
  list({ account }: Caller): Promise<VolumeItem[]> {
    return this.records.volumes.list({ account, limit: LISTED_AT_MOST });
  }

  /** What each of the account's volumes was last counted to hold, by its id. */
  async uses({ account }: Caller): Promise<ReadonlyMap<string, KeptVolumeUse>> {
    const items = await this.records.uses.list({ account, limit: LISTED_AT_MOST });
    return new Map(items.map(({ id, doc }) => [id, doc]));
  }

  /** Undefined until it was counted. */
  async useOf(id: string): Promise<KeptVolumeUse | undefined> {
    return (await this.records.uses.get(id))?.doc;
  }

  get(caller: Caller, id: string): Promise<VolumeItem> {
    return this.records.volumes.owned(caller, id);
  }

  /**
   * Writes for the commit that makes something of the account use these volumes. They keep a concurrent deletion from overlooking the new
   * user.
   */
  async using(account: string, ids: readonly string[] = []): Promise<Write[]> {
    await this.located(account, ids);
    return ids.map((id) => this.records.volumes.touching(id));
  }

  /** Throws if a volume does not belong to the account. */
  async located(account: string, ids: readonly string[]): Promise<LocatedVolume[]> {
    const items = await Promise.all(ids.map((id) => this.records.volumes.owned({ account }, id)));
    return items.map(({ id, doc: { dataCenter, machine } }) => ({ id, dataCenter, machine }));
  }

  /** Undefined when the account has no volume with this id. */
  async placeOf(account: string, id: string): Promise<VolumePlace | undefined> {
    const item = await this.records.volumes.get(id);
    if (item?.account !== account) return undefined;
    const { dataCenter, machine } = item.doc;
    return { dataCenter, ...(machine !== null && { machine }) };
  }

  async create(caller: Caller, volume: NewVolume, naming: Naming = {}): Promise<VolumeItem> {
    const { name, type, ...plain } = volume;
    const { size, dataCenter } = plain;
    const tier = tierIn(dataCenter, type);
    const used = await this.records.sizes();
    const machine = siteFor({ dataCenter, size }, await this.#machines(), (id) => used.get(id) ?? 0);
    const record = newRecord({ clock: this.#clock, random: this.#random }, caller.account);
    const doc = { ...unsaidOf(NetworkVolume), ...plain, type: tier, machine, createdBy: caller.key };
    const amounts = [this.#one(caller.account), this.#gb(caller.account, size)];
    await this.#spending.assert(caller.account, caller.key);
    const made = await this.#names.under(caller.account, { name, ...naming }, async (claim, check) => {
      await check();
      const insert = (within: Bound[]) => this.records.insert({ ...record, doc: { ...claim, ...doc } }, within);
      return this.#quotas.withinAll(caller.account, amounts, insert);
    });
    return this.#settled(made);
  }

  async update(caller: Caller, id: string, set: VolumeChange, naming: Naming = {}): Promise<VolumeItem> {
    const { volumes } = this.records;
    const changed = async (item: VolumeItem) => {
      const claim = await this.#names.renamed(item, { name: set.name, ...naming });
      const said = changedIn(item.doc, { ...grown(item.doc, set), ...claim });
      return isEmpty(said) ? undefined : { set: said };
    };
    const before = (await volumes.owned(caller, id)).doc;
    const more = (set.size ?? before.size) - before.size;
    if (more === 0) return this.records.changeOwned(caller, id, changed);
    if (more > 0) {
      await this.#spending.assert(caller.account, caller.key);
      const used = await this.records.sizes();
      refuseGrowth(before, more, await this.#machines(), (machine) => used.get(machine) ?? 0);
    }
    const grow = (within: Bound[]) =>
      this.records.changeOwned(caller, id, async (item) => {
        const decision = await changed(item);
        return decision && { ...decision, within };
      });
    return this.#settled(await this.#quotas.withinAll(caller.account, [this.#gb(caller.account, more)], grow));
  }

  /** Callers no longer see the volume. Its contents are removed once no instance that is still ending has it mounted. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.records.changeOwned(caller, id, async (item) => {
      await this.#uses.refuseWhileUsed("network volume", item);
      return { remove: true, also: [this.records.marking(id, item.doc.machine)] };
    });
    await this.records.uses.removeIfThere(id);
    await this.#upkeep.tend(id);
  }

  /** Removes the volumes of an account that is being deleted. Their contents go now, or when a server of their machine next runs. */
  removeAccount(account: string): Promise<void> {
    return this.records.removeAccount(account);
  }

  #one(account: string): Amount {
    return { name: "volumes", amount: 1, of: [this.records.volumes.held({ account })] };
  }

  #gb(account: string, amount: number): Amount {
    return { name: "gb", amount, of: [this.records.volumes.held({ account }, "size")] };
  }

  /** The volume after its machine did what it could at once. A machine of another node does its work later. */
  async #settled(item: VolumeItem): Promise<VolumeItem> {
    await this.#upkeep.tend(item.id);
    return (await this.records.volumes.get(item.id)) ?? item;
  }
}

function grown({ size }: KeptNetworkVolume, set: VolumeChange): VolumeChange {
  if (set.size !== undefined && set.size < size)
    throw problem("rule-broken", `The volume has ${size} GB, and no volume becomes smaller.`);
  return set;
}
