/** The prices at every moment: those of the catalog's files, and the changes that an operator made while servers ran. */
import type { Catalog } from "../catalog/catalog.ts";
import { baseCatalog } from "../catalog/compute.ts";
import { merged, type PriceSet, repriced } from "../catalog/price-changes.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import { Collection } from "../ports/store/collection.ts";
import { type Store, WriteRefused } from "../ports/store/store.ts";
import type { PricesInTime } from "./prices.ts";

export type KeptPriceChange = {
  /** Changes are counted from 1. */
  number: number;
  /** The moment from which the change applies. */
  at: number;
  set: PriceSet[];
};

const priceChanges: Kept<KeptPriceChange> = { kind: "price-change", v: 1 };

const EVERYONE = "*";
/** A change applies this much later. Every node checks more often, so all know it by then. */
export const AHEAD_MS = 5000;
/** An installation can have at most this many changes ever. */
const MOST_CHANGES = 10_000;

interface Known {
  number: number;
  at: number;
  /** All prices set so far, including this change. */
  set: PriceSet[];
}

export class PriceBook implements PricesInTime {
  readonly #changes: Collection<KeptPriceChange>;
  readonly #clock: Clock;
  /** Sorted by time. */
  #known: readonly Known[] = [];
  /** Catalogs are cached for each change while the files' catalog is the same. */
  #made = new WeakMap<Known, { base: Catalog; catalog: Catalog }>();

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#changes = new Collection(store, priceChanges);
    this.#clock = clock;
  }

  async prepare(): Promise<void> {
    await this.#changes.prepare();
    await this.refresh();
  }

  /** Reads changes that are not known yet. If there are none, it only reads the last one. */
  async refresh(): Promise<void> {
    const [last] = await this.#changes.list({ limit: 1 });
    if (!last || last.doc.number === this.#known.length) return;
    const found = await this.#changes.list({ limit: MOST_CHANGES });
    const known: Known[] = [];
    for (const { doc } of found.toReversed())
      known.push({ number: doc.number, at: doc.at, set: merged(known.at(-1)?.set ?? [], doc.set) });
    this.#known = known;
  }

  /** The change in force at a moment, or undefined before the first. */
  #at(moment: number): Known | undefined {
    return this.#known.findLast(({ at }) => at <= moment);
  }

  at(moment: number): Catalog {
    const known = this.#at(moment);
    const base = baseCatalog();
    if (!known) return base;
    const made = this.#made.get(known);
    if (made?.base === base) return made.catalog;
    const catalog = repriced(base, known.set);
    this.#made.set(known, { base, catalog });
    return catalog;
  }

  changes(after: number, until: number): readonly number[] {
    if ((this.#known.at(-1)?.at ?? Number.NEGATIVE_INFINITY) <= after) return [];
    return this.#known.map(({ at }) => at).filter((at) => at > after && at <= until);
  }

  /** The number of the change in force at a moment, or 0 before the first. */
  numberAt(moment: number): number {
    return this.#at(moment)?.number ?? 0;
  }

  /** Changes that do not apply yet. */
  coming(now: number): { at: number }[] {
    return this.#known.filter(({ at }) => at > now).map(({ at }) => ({ at }));
  }

  /** Adds a change that applies a moment later, after all earlier ones. Resolves with that moment. */
  async change(set: PriceSet[]): Promise<number> {
    for (;;) {
      await this.refresh();
      const last = this.#known.at(-1);
      const number = (last?.number ?? 0) + 1;
      if (number > MOST_CHANGES)
        throw new Error(`prices were changed ${MOST_CHANGES} times: write the next ones into MILLRACE_CATALOG`);
      const at = Math.max(this.#clock.now() + AHEAD_MS, (last?.at ?? 0) + 1);
      const id = `prices.${number}`;
      try {
        await this.#changes.insert({ id, account: EVERYONE, createdAt: at, doc: { number, at, set } });
        await this.refresh();
        return at;
      } catch (error) {
        // Somebody else used this number at the same moment, so the next number is tried.
        if (!(error instanceof WriteRefused)) throw error;
      }
    }
  }
}
