/** Typed records of one kind: it reads the store's documents in today's format, whichever release wrote them. */
import type { Clock } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import { type Document, type Kept, type Keys, NewerFormat, upcast } from "../../kernel/document.ts";
import { onceFor } from "../../kernel/once-for.ts";
import { type Problem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import {
  type Bound,
  type Counting,
  type ListKey,
  type RefusalReason,
  type Selection,
  type Store,
  type StoredRecord,
  type UniqueKey,
  type Write,
  WriteRefused,
} from "./store.ts";

/** What a service for records needs. */
export interface RecordParts {
  store: Store;
  clock: Clock;
  random: Random;
}

/** A typed record, with what the store knows about it. */
export interface Item<T> {
  id: string;
  account: string;
  createdAt: number;
  version: number;
  doc: T;
  /** Fields of the stored document that today's format no longer has. The next patch removes them. */
  outgrown?: string[];
}

export type NewItem<T> = Pick<Item<T>, "id" | "account" | "createdAt" | "doc">;

/** Which records are selected: all, or those of an account, with a key, or both. */
export type Selected = Omit<Selection, "kind">;

export interface PageAsked {
  after?: LastSeen | undefined;
  limit: number;
}

export interface Page<T> {
  items: Item<T>[];
  /** The last item of this page; undefined if no more follow. */
  next: LastSeen | undefined;
}

/** What to do with a record. `also` is written in the same commit. */
export type Decision<T> = ({ set: Partial<T>; within?: readonly Bound[] } | { remove: true }) & { also?: Write[] };

type Decide<T> = (item: Item<T>) => Decision<T> | undefined | Promise<Decision<T> | undefined>;

/** Refusals that mean that the record changed after it was read. */
const BEHIND: readonly RefusalReason[] = ["changed", "missing"];
/** More tries than writers could ever compete for one record. */
const MOST_TRIES = 10_000;

const EVERYWHERE = "*";
const FORMAT_KIND = "format";
const PAGE = 500;
const REBUILT_TOGETHER = 200;

export class Collection<T extends Document> {
  readonly #store: Store;
  readonly #kept: Kept<T>;
  /** A document that several readers share is read only once. */
  readonly #shared = onceFor((doc: Document) => this.#today(doc));

  constructor(store: Store, kept: Kept<T>) {
    this.#store = store;
    this.#kept = kept;
  }

  async get(id: string): Promise<Item<T> | undefined> {
    return this.#read(await this.#store.get(this.#kept.kind, id));
  }

  /** Returns the record with this unique key in an account. */
  async find(account: string, name: string, value: string): Promise<Item<T> | undefined> {
    return this.#read(await this.#store.find(this.#kept.kind, { scope: account, name, value }));
  }

  /** Returns the record with this unique key in the whole installation. */
  async findEverywhere(name: string, value: string): Promise<Item<T> | undefined> {
    return this.find(EVERYWHERE, name, value);
  }

  async list(options: Selected & { after?: LastSeen | undefined; limit: number }): Promise<Item<T>[]> {
    const records = await this.#store.list({ kind: this.#kept.kind, ...options });
    return records.map((record) => this.#read(record)!);
  }

  /**
   * Returns a page of an account's records, newest first, and where the next page begins. With `fits`, only records for which it is true.
   */
  async page(
    { account }: { account: string },
    { after, limit }: PageAsked,
    fits: (item: Item<T>) => boolean = () => true,
  ): Promise<Page<T>> {
    const items: Item<T>[] = [];
    for (let last = after, atOnce = limit + 1; ; atOnce = PAGE) {
      const found = await this.list({ account, after: last, limit: atOnce });
      items.push(...found.filter(fits));
      if (items.length > limit) return { items: items.slice(0, limit), next: items[limit - 1] };
      if (found.length < atOnce) return { items, next: undefined };
      last = found.at(-1);
    }
  }

  count(selected: Selected): Promise<number> {
    return this.#store.count({ kind: this.#kept.kind, ...selected });
  }

  /** Yields all selected records, page by page. */
  async *all(selected: Selected = {}): AsyncGenerator<Item<T>> {
    for (let after: LastSeen | undefined, more = true; more; ) {
      const page: Item<T>[] = await this.list({ ...selected, after, limit: PAGE });
      yield* page;
      after = page.at(-1);
      more = page.length === PAGE;
    }
  }

  /** Describes what a bound counts: the account's records of this kind, or the sum of one of their number fields. */
  held({ account }: { account: string }, sum?: keyof T & string): Counting {
    return { kind: this.#kept.kind, account, sum };
  }

  async insert(item: NewItem<T>, within?: readonly Bound[]): Promise<Item<T>> {
    const [record] = await this.#store.commit([this.inserting(item, within)]);
    return this.read(record!);
  }

  /** Changes the named fields of a record, if nobody changed it since it was read. */
  async patch(item: Item<T>, set: Partial<T>, unset?: (keyof T & string)[]): Promise<Item<T>> {
    const [record] = await this.#store.commit([this.patching(item, set, unset)]);
    return this.#read(record)!;
  }

  async remove(id: string): Promise<void> {
    await this.#store.commit([this.removing(id)]);
  }

  /** A record that is already gone is no error, since another node may have been faster. */
  async removeIfThere(id: string): Promise<void> {
    await this.#unlessRefused([this.removing(id)], ["missing"]);
  }

  /**
   * Writes a record that exists only once, whichever node wrote it before. If two write at once, either may win. What a record has beyond
   * the new one stays, such as fields of a later release, except for what is named in `optional`.
   */
  async put(item: NewItem<T>, optional: readonly (keyof T & string)[] = []): Promise<Item<T>> {
    const unset = optional.filter((name) => !(name in item.doc));
    for (;;) {
      const known = await this.get(item.id);
      const write = known ? this.patching(known, item.doc, unset) : this.inserting(item);
      const written = await this.#unlessRefused([write], [...BEHIND, "id-taken"]);
      if (written) return this.#read(written[0])!;
    }
  }

  /**
   * Changes or removes a record as `decide` says about its present state. If another writer was faster, the record is read again and
   * `decide` is asked again, so two changes at once both happen. Returns undefined when there is no such record (any more). If `decide`
   * returns nothing, the record stays unchanged.
   */
  async change(id: string, decide: Decide<T>): Promise<Item<T> | undefined> {
    for (let left = MOST_TRIES; left > 0; left--) {
      const item = await this.get(id);
      const decision = item && (await decide(item));
      if (!decision) return item;
      const own =
        "remove" in decision ? this.removing(id, item.version) : this.patching(item, decision.set, [], decision.within);
      const written = await this.#unlessRefused([own, ...(decision.also ?? [])], BEHIND);
      if (written) return this.#read(written[0]);
    }
    throw new Error(`${this.#kept.kind} ${id} could not be changed: what is to be written with it never fits`);
  }

  /** Like `change`, for a record that must belong to the account. */
  async changeOwned(owner: { account: string }, id: string, decide: Decide<T>): Promise<Item<T>> {
    const changed = await this.change(id, (item) => {
      if (item.account !== owner.account) throw this.notFound();
      return decide(item);
    });
    if (!changed) throw this.notFound();
    return changed;
  }

  /** Removes a record that must belong to the account. */
  async removeOwned(owner: { account: string }, id: string): Promise<void> {
    await this.changeOwned(owner, id, () => ({ remove: true }));
  }

  /** Returns undefined if the commit was refused for one of these reasons. */
  async #unlessRefused(writes: Write[], reasons: readonly RefusalReason[]): Promise<StoredRecord[] | undefined> {
    try {
      return await this.#store.commit(writes);
    } catch (error) {
      if (error instanceof WriteRefused && reasons.includes(error.reason)) return undefined;
      throw error;
    }
  }

  /** Returns the record if it belongs to the account. Records of other accounts count as not found. */
  async owned({ account }: { account: string }, id: string): Promise<Item<T>> {
    const item = await this.get(id);
    if (item?.account !== account) throw this.notFound();
    return item;
  }

  notFound(): Problem {
    const { kind, called = kind } = this.#kept;
    return problem("not-found", `${called} not found`);
  }

  /** The insert is refused as `full` if it would exceed a bound. */
  inserting(item: NewItem<T>, within?: readonly Bound[]): Write {
    const { kind, v } = this.#kept;
    return {
      do: "insert",
      ...(within && { within }),
      record: {
        kind,
        ...item,
        doc: { ...item.doc, v },
        unique: this.#keys(item.account, item.doc),
        listed: this.#listed(item.doc),
      },
    };
  }

  patching(
    item: Item<T>,
    set: Partial<T>,
    unset: readonly (keyof T & string)[] = [],
    within?: readonly Bound[],
  ): Write {
    const { kind, v } = this.#kept;
    // The whole document is written back, since an upcast may have moved its fields.
    const changes = { ...item.doc, ...set, v };
    const after = { ...item.doc, ...set };
    for (const name of unset) delete after[name];
    const outgrown = (item.outgrown ?? []).filter((name) => !(name in changes));
    return {
      do: "patch",
      ...(within && { within }),
      kind,
      id: item.id,
      ifVersion: item.version,
      set: changes,
      unset: [...unset, ...outgrown],
      unique: this.#keys(item.account, after),
      listed: this.#listed(after),
    };
  }

  /**
   * Raises a record's version without changing it, so that anyone who decided on the old version must decide again. Refused if the record
   * is gone or, with `ifVersion`, was changed since.
   */
  touching(id: string, ifVersion?: number): Write {
    return { do: "patch", kind: this.#kept.kind, id, set: {}, ...(ifVersion === undefined ? {} : { ifVersion }) };
  }

  /** With `ifVersion`, the removal is refused if the record was changed since. */
  removing(id: string, ifVersion?: number): Write {
    return { do: "remove", kind: this.#kept.kind, id, ...(ifVersion === undefined ? {} : { ifVersion }) };
  }

  /** Runs at start. It refuses data of a newer release, and rebuilds keys that an older release computed differently. */
  async prepare(): Promise<void> {
    const { kind, v, keysVersion = 1 } = this.#kept;
    const known = await this.#store.get(FORMAT_KIND, kind);
    const stored = known?.doc as { format: number; keysVersion: number } | undefined;
    if (stored && stored.format > v) throw new NewerFormat(kind, stored.format, v);
    if (stored?.format === v && stored.keysVersion === keysVersion) return;
    if (stored && stored.keysVersion !== keysVersion) await this.#rebuildKeys();
    const doc = { format: v, keysVersion };
    const record = { kind: FORMAT_KIND, id: kind, account: EVERYWHERE, createdAt: 0, doc, unique: [] };
    const refusal = await this.#attempt([
      known ? { do: "patch", kind: FORMAT_KIND, id: kind, set: doc } : { do: "insert", record },
    ]);
    // `id-taken` means that another node started at the same moment and noted the same thing.
    if (refusal && refusal.reason !== "id-taken") throw refusal;
  }

  /**
   * Rebuilds many keys per commit, since there may be very many. If one record of a commit was changed meanwhile, they are done one by one.
   */
  async #rebuildKeys(): Promise<void> {
    for (let after: LastSeen | undefined, more = true; more; ) {
      const page: Item<T>[] = await this.list({ after, limit: REBUILT_TOGETHER });
      const refusal = page.length > 0 && (await this.#attempt(page.map((item) => this.#rebuilding(item))));
      if (refusal) for (const item of page) await this.#rebuildKeysOf(item);
      after = page.at(-1);
      more = page.length === REBUILT_TOGETHER;
    }
  }

  #rebuilding({ id, account, version, doc }: Item<T>): Write {
    const keys = { unique: this.#keys(account, doc), listed: this.#listed(doc) };
    return { do: "patch", kind: this.#kept.kind, id, ifVersion: version, set: {}, ...keys };
  }

  /** Other nodes may already be running: a record that changed meanwhile is read again, and one that is gone needs no keys. */
  async #rebuildKeysOf(item: Item<T>): Promise<void> {
    const { kind } = this.#kept;
    for (let now: Item<T> | undefined = item; now; now = await this.get(item.id)) {
      const { id } = now;
      const refusal = await this.#attempt([this.#rebuilding(now)]);
      if (!refusal) return;
      if (refusal.reason === "key-taken") {
        const why = `${kind} ${id} cannot have its keys rebuilt, for another record holds one of them`;
        throw new Error(`${why}: start the release that wrote the data and rename one of the two`, { cause: refusal });
      }
    }
  }

  async #attempt(writes: Write[]): Promise<WriteRefused | undefined> {
    try {
      await this.#store.commit(writes);
      return undefined;
    } catch (error) {
      if (error instanceof WriteRefused) return error;
      throw error;
    }
  }

  #keys(account: string, doc: T): UniqueKey[] {
    return [...keysIn(account, this.#kept.unique?.(doc)), ...keysIn(EVERYWHERE, this.#kept.uniqueEverywhere?.(doc))];
  }

  /** Returns the keys by which a document is listed, for callers that patch a record without reading it. */
  listing(doc: T): ListKey[] {
    return this.#listed(doc);
  }

  #listed(doc: T): ListKey[] {
    return Object.entries(this.#kept.listed?.(doc) ?? {}).flatMap(([name, values]) =>
      [values ?? []].flat().map((value) => ({ name, value })),
    );
  }

  #read(record: StoredRecord | undefined): Item<T> | undefined {
    return record && this.read(record);
  }

  /** Turns a record from the store into a typed item. */
  read(record: StoredRecord): Item<T> {
    const { id, account, createdAt, version } = record;
    const read = Object.isFrozen(record.doc) ? this.#shared(record.doc) : this.#today(record.doc);
    return { id, account, createdAt, version, ...read };
  }

  #today(stored: Document): Pick<Item<T>, "doc" | "outgrown"> {
    const doc = upcast(this.#kept, stored);
    const outgrown = Object.keys(stored).filter((name) => !(name in doc));
    return { doc, ...(outgrown.length > 0 ? { outgrown } : {}) };
  }
}

function keysIn(scope: string, keys: Keys = {}): UniqueKey[] {
  return Object.entries(keys).flatMap(([name, value]) => (value === undefined ? [] : [{ scope, name, value }]));
}
