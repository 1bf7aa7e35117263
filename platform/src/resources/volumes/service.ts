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
import { type KeptNetworkVolume, NetworkVolume } from "./model.ts";
import type { VolumeItem, VolumeRecords } from "./records.ts";
import { siteFor, tierIn } from "./siting.ts";

export type { VolumeItem } from "./records.ts";
export type NewVolume = Static<typeof NetworkVolume.create>;
export type VolumeChange = Static<typeof NetworkVolume.update>;

export type LocatedVolume = { id: string } & Pick<KeptNetworkVolume, "dataCenter" | "machine">;

/** Where a volume is, for those that mount it. */
export interface VolumePlace {
  dataCenter: string;
  /** Absent for one on the storage that machines share. */
  machine?: string;
}

export interface VolumeUpkeep {
  /** Something is to be done about a volume; resolves when it is where that is this node's. */
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
      /** Where volumes can be. */
      machines: () => Promise<readonly Machine[]>;
      /** Who makes volumes what their records say. */
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

  /** Before a program of this node mounts it: it is there, as its record says. */
  ensure(id: string): Promise<void> {
    return this.#upkeep.ensure(id);
  }

  /** The newest first. */
  list({ account }: Caller): Promise<VolumeItem[]> {
    return this.records.volumes.list({ account, limit: LISTED_AT_MOST });
  }

  get(caller: Caller, id: string): Promise<VolumeItem> {
    return this.records.volumes.owned(caller, id);
  }

  /** For the commit by which something of an account begins to use these, so that no deletion overlooks it. */
  async using(account: string, ids: readonly string[] = []): Promise<Write[]> {
    await this.located(account, ids);
    return ids.map((id) => this.records.volumes.touching(id));
  }

  /** Throws for one that is not the account's. */
  async located(account: string, ids: readonly string[]): Promise<LocatedVolume[]> {
    const items = await Promise.all(ids.map((id) => this.records.volumes.owned({ account }, id)));
    return items.map(({ id, doc: { dataCenter, machine } }) => ({ id, dataCenter, machine }));
  }

  /** Where one of an account is; undefined when there is none. */
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
    if (more > 0) await this.#spending.assert(caller.account, caller.key);
    const grow = (within: Bound[]) =>
      this.records.changeOwned(caller, id, async (item) => {
        const decision = await changed(item);
        return decision && { ...decision, within };
      });
    return this.#settled(await this.#quotas.withinAll(caller.account, [this.#gb(caller.account, more)], grow));
  }

  /** Gone for callers at once; its contents go as soon as nothing that still ends has it mounted. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.records.changeOwned(caller, id, async (item) => {
      await this.#uses.refuseWhileUsed("network volume", item);
      return { remove: true, also: [this.records.marking(id, item.doc.machine)] };
    });
    await this.#upkeep.tend(id);
  }

  /** An account is about to go: the contents of its volumes go with it, now or when a server of their machine next runs. */
  removeAccount(account: string): Promise<void> {
    return this.records.removeAccount(account);
  }

  #one(account: string): Amount {
    return { name: "volumes", amount: 1, of: [this.records.volumes.held({ account })] };
  }

  #gb(account: string, amount: number): Amount {
    return { name: "gb", amount, of: [this.records.volumes.held({ account }, "size")] };
  }

  /** As it is once its machine has done what it can at once; where that is another node's, it follows. */
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
