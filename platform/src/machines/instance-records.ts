/** The records of all instances. Each change is one commit together with the room and the spans that it affects. */
import type { Clock } from "../kernel/clock.ts";
import type { Moved } from "../kernel/lifecycle.ts";
import { commitMetered } from "../metering/commit.ts";
import { Meter, type Metered, meteringIn } from "../metering/meter.ts";
import type { PricesInTime } from "../metering/prices.ts";
import { Collection } from "../ports/store/collection.ts";
import { type Bound, kindsOf, type Store, type StoredRecord, type Write, WriteRefused } from "../ports/store/store.ts";
import { Allotments, ofAccount, ofMachine, type Taking } from "./allotments.ts";
import { type InstanceItem, instances, type KeptInstance, LIVING, mayMount, payable } from "./instances.ts";

/** Writes of this node are visible here at once, those of another node or process within this time. */
const REMEMBERED_MS = 1000;

export interface NewInstance<T extends KeptInstance = KeptInstance> {
  id: string;
  account: string;
  createdAt: number;
  doc: T;
}

/** The instances at one moment, and the right to take from what was free then. */
export interface Counted {
  instances: readonly InstanceItem[];
  taking: Taking;
}

/** Records are cached for a moment and changed only by compare-and-set. */
export class InstanceRecords {
  readonly #instances: Collection<KeptInstance>;
  readonly #allotments: Allotments;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #meter: Meter<KeptInstance>;
  readonly #boundsHeld: (account: string) => Promise<boolean>;
  #known = new Map<string, InstanceItem>();
  /** Grows with every change of the records that are known here. */
  revision = 0;
  /** Built on first use. */
  #byOwner: Map<string, InstanceItem[]> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  /** How many commits of others had written instances when the records were last read. Undefined if that is not known. */
  #others: number | undefined;
  /** How many commits of this node have. */
  #own = 0;
  /** Commits of this node that may be written already, though their answer has not arrived. */
  #underWay = 0;
  #reading: Promise<void> | undefined;
  /** How often the records were forgotten, and how often when the last reading began that ended well. */
  #forgotten = 0;
  #readSince = 0;
  /** Records written while all records were being read, so that the reading does not undo them. A removed one is undefined. */
  readonly #written = new Map<string, InstanceItem | undefined>();

  constructor(parts: {
    store: Store;
    clock: Clock;
    prices?: PricesInTime;
    /** Whether an account has a limit on what it may hold. What it takes is then counted like room. */
    boundsHeld?: (account: string) => Promise<boolean>;
  }) {
    this.#boundsHeld = parts.boundsHeld ?? (async () => false);
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#instances = new Collection(parts.store, instances);
    this.#allotments = new Allotments(parts.store);
    this.#meter = new Meter(parts.store, payable, parts.prices);
  }

  async prepare(): Promise<void> {
    await this.#instances.prepare();
    await this.#meter.prepare();
  }

  /** The revision once everything is read that changed. While it stays, so does all that was gathered from the records. */
  async currentRevision(): Promise<number> {
    await this.#refreshed();
    return this.revision;
  }

  async all(): Promise<InstanceItem[]> {
    await this.#refreshed();
    return this.remembered();
  }

  /** Returns all instances, for a caller that counts what is free and then takes from it. */
  async counted(): Promise<Counted> {
    await this.#refreshed();
    // Both are of the same moment. If the instances were older, room that was taken in between would be taken twice.
    return { instances: this.remembered(), taking: this.#allotments.asCounted() };
  }

  async find(id: string): Promise<InstanceItem | undefined> {
    await this.#refreshed();
    return this.#known.get(id);
  }

  /** Instances on any machine that may have this network volume mounted. */
  async mounting(volume: string): Promise<string[]> {
    return (await this.all()).filter((item) => mayMount(item, volume)).map(({ id }) => id);
  }

  /** Whether the instance was in the last reading of the records or was added since. */
  isRemembered(id: string): boolean {
    return this.#known.has(id);
  }

  async ofOwner(owner: string): Promise<readonly InstanceItem[]> {
    await this.#refreshed();
    return this.rememberedOf(owner);
  }

  /** Whether an owner has an instance now, also one that another node recorded a moment ago. */
  async isOwned(owner: string): Promise<boolean> {
    return (await this.#instances.list({ key: { name: "owner", value: owner }, limit: 1 })).length > 0;
  }

  /** All instances of this revision, as far as they are cached. */
  remembered(): InstanceItem[] {
    return [...this.#known.values()];
  }

  /** The instances of an owner, as far as they are cached. */
  rememberedOf(owner: string): readonly InstanceItem[] {
    this.#byOwner ??= Map.groupBy(this.#known.values(), ({ doc }) => doc.owner);
    return this.#byOwner.get(owner) ?? [];
  }

  /** Makes the next reader read the store again. A reading that is under way may have begun too early, so it does not count. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#forgotten++;
  }

  /**
   * Inserts all instances with the room that they take, or none. Returns undefined if somebody else has since taken room on one of their
   * machines, or from the limit of their account, so that there may be too little left. The writes of `also` may be refused as well. With
   * `most`, it also returns undefined if more instances of an owner would then live than this, because somebody else has added some.
   */
  async insert<T extends KeptInstance>(
    items: readonly NewInstance<T>[],
    { taking }: Pick<Counted, "taking">,
    also: readonly Write[] = [],
    most?: number,
  ): Promise<InstanceItem<T>[] | undefined> {
    const metered = items.map((item) => ({ ...item, ...this.#meter.begin(item) }));
    const inserts = metered.map(({ writes: _, ...item }) => this.#instances.inserting(item, boundOf(item, most)));
    const writes = [...inserts, ...metered.flatMap((item) => item.writes), ...also];
    const written = await this.#taken(
      items.map(({ account, doc }) => ({ account, machine: doc.machine })),
      writes,
      taking,
    ).catch((error) => this.#unlessFull(error, most));
    if (!written) return undefined;
    const inserted = items.map((_, i) => this.#noted(written[i]!) as InstanceItem<T>);
    this.#allotments.learn(this.#allotments.among(written));
    return inserted;
  }

  /** The records that this node remembers are out of date. */
  #unlessFull(error: unknown, most: number | undefined): undefined {
    if (most === undefined || !(error instanceof WriteRefused) || error.reason !== "full") throw error;
    this.forget();
  }

  /**
   * Returns the instance after this change, or undefined if somebody changed or removed it first. With `most`, it also returns undefined if
   * more instances of its owner would then live than this.
   */
  async patch<T extends KeptInstance>(
    item: InstanceItem<T>,
    set: Partial<T>,
    metered: Metered = {},
    also: readonly Write[] = [],
    most?: number,
  ): Promise<InstanceItem<T> | undefined> {
    const writes = [...this.#patching(item, set, metered, boundOf(item, most)), ...also];
    const written = await this.#commit(writes).catch((error) => this.#unlessFull(error, most));
    return written && (this.#noted(written[0]!) as InstanceItem<T>);
  }

  /**
   * Continues the instance's span at the current prices from when they took effect. Does nothing if the instance is gone or its price is
   * unchanged.
   */
  async renew(id: string): Promise<void> {
    for (;;) {
      const item = await this.#instances.get(id);
      if (!item || !this.#meter.isOutdated(item, this.#clock.now())) return;
      if (await this.patch(item, {}, { renewed: true })) return;
    }
  }

  /** Gives the instance a place that was counted. Also returns undefined if somebody else has taken room on that machine since. */
  async place<T extends KeptInstance>(
    item: InstanceItem<T>,
    set: Partial<T> & { machine: string },
    { taking }: Pick<Counted, "taking">,
  ): Promise<InstanceItem<T> | undefined> {
    const written = await this.#taken(
      [{ account: item.account, machine: set.machine }],
      this.#patching(item, set, {}),
      taking,
    );
    if (!written) return undefined;
    const placed = this.#noted(written[0]!) as InstanceItem<T>;
    this.#allotments.learn(this.#allotments.among(written));
    return placed;
  }

  /**
   * Removes the instance and ends its open span. An instance that is already gone is no error. `leaves` makes the last move of its
   * lifecycle.
   */
  async remove<T extends KeptInstance>(
    id: string,
    leaves: (doc: T) => Moved<string>,
    metered: Metered = {},
  ): Promise<void> {
    for (;;) {
      const item = await this.#instances.get(id);
      if (!item) return this.#note(id, undefined);
      leaves(item.doc as T);
      const writes = this.#meter.end(item, this.#momentOf(metered), metered);
      const removed = await this.#commit([this.#instances.removing(id, item.version), ...writes]);
      if (removed) return this.#note(id, undefined);
    }
  }

  #momentOf({ at }: Metered): number {
    return at ?? this.#clock.now();
  }

  /** The write of the instance itself comes first. */
  #patching<T extends KeptInstance>(
    item: InstanceItem<T>,
    set: Partial<T>,
    metered: Metered,
    within?: readonly Bound[],
  ): Write[] {
    const { doc, writes } = this.#meter.move(item, { ...item.doc, ...set }, this.#momentOf(metered), metered);
    return [this.#instances.patching(item, { ...set, ...meteringIn(doc) }, [], within), ...writes];
  }

  async #taken(
    places: readonly { account: string; machine: string | null }[],
    writes: Write[],
    taking: Taking,
  ): Promise<StoredRecord[] | undefined> {
    const machines = places.flatMap(({ machine }) => (machine === null ? [] : [ofMachine(machine)]));
    if (machines.length === 0) return this.#commit(writes);
    const accounts = new Set(places.map(({ account }) => account));
    const bounded = await Promise.all([...accounts].map(async (one) => ((await this.#boundsHeld(one)) ? [one] : [])));
    const sources = [...machines, ...bounded.flat().map(ofAccount)];
    return taking.commit(sources, (more) => this.#commit([...writes, ...more]));
  }

  /** Returns undefined if the cached records are out of date. */
  async #commit(writes: Write[]): Promise<StoredRecord[] | undefined> {
    this.#underWay++;
    try {
      const written = await commitMetered(this.#store, writes);
      if (written && kindsOf(writes).has(instances.kind)) this.#own++;
      if (!written) this.forget();
      return written;
    } catch (error) {
      // It may have been written all the same.
      this.#others = undefined;
      throw error;
    } finally {
      this.#underWay--;
    }
  }

  async #refreshed(): Promise<void> {
    if (this.#clock.monotonic() - this.#readAt < REMEMBERED_MS) return;
    const forgotten = this.#forgotten;
    do {
      this.#reading ??= this.#readIfChanged().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    } while (this.#readSince < forgotten);
  }

  /** What this node writes is known here, so thousands of instances cost no reading while nobody else writes any. */
  async #readIfChanged(): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const forgotten = this.#forgotten;
    const others = this.#commitsOfOthers();
    const isForgotten = this.#readAt === Number.NEGATIVE_INFINITY;
    if (others === undefined || others !== this.#others || isForgotten) {
      this.#others = others;
      await this.#read().catch((error) => {
        this.forget();
        throw error;
      });
    }
    this.#readSince = forgotten;
    if (forgotten === this.#forgotten) this.#readAt = startedAt;
  }

  /** Undefined while a commit of this node is under way, since the store may count it already. */
  #commitsOfOthers(): number | undefined {
    const stamp = this.#store.stamp(instances.kind);
    return stamp === undefined || this.#underWay > 0 ? undefined : stamp - this.#own;
  }

  /** The allotments are read first. Then the next write detects room that was taken during the reading. */
  async #read(): Promise<void> {
    this.#written.clear();
    const allotments = await this.#allotments.read();
    const found = new Map<string, InstanceItem>();
    for await (const item of this.#instances.all()) found.set(item.id, item);
    for (const [id, item] of this.#written) {
      if (!item) found.delete(id);
      else if (item.version > (found.get(id)?.version ?? 0)) found.set(id, item);
    }
    this.#allotments.learn(allotments);
    if (!this.#keepUnchanged(found)) return;
    this.#known = found;
    this.#changed();
  }

  /** Puts known items in place of the same ones that were read again. Returns false if nothing differs from what is known. */
  #keepUnchanged(found: Map<string, InstanceItem>): boolean {
    let differs = found.size !== this.#known.size;
    for (const [id, item] of found) {
      const before = this.#known.get(id);
      if (before?.version === item.version && before.createdAt === item.createdAt) found.set(id, before);
      else differs = true;
    }
    return differs;
  }

  #noted(record: StoredRecord): InstanceItem {
    const item = this.#instances.read(record);
    this.#note(item.id, item);
    return item;
  }

  #changed(): void {
    this.revision++;
    this.#byOwner = undefined;
  }

  #note(id: string, item: InstanceItem | undefined): void {
    // The answer to a commit may be late. A reading may have shown the record meanwhile, and somebody may have changed it since.
    if (item && item.version < (this.#known.get(id)?.version ?? 0)) return;
    this.#changed();
    if (item) this.#known.set(id, item);
    else this.#known.delete(id);
    if (this.#reading) this.#written.set(id, item);
  }
}

function boundOf({ account, doc }: Omit<NewInstance, "id">, most: number | undefined): Bound[] | undefined {
  if (most === undefined) return undefined;
  return [{ of: [{ kind: instances.kind, account, key: { name: LIVING, value: doc.owner } }], most }];
}
