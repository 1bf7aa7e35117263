/** Finds the spans that a change of a record begins and ends. They are written in the commit of that change. */
import { Collection } from "../ports/store/collection.ts";
import type { Store, Write } from "../ports/store/store.ts";
import { type PricesInTime, priceOf, samePrice, standingPrices } from "./prices.ts";
import { type KeptSpan, type Metering, type OpenSpan, type Payable, type Price, spanId, spans } from "./span.ts";

export interface Metered {
  /** When it happened. The default is now. */
  at?: number | undefined;
  /** Why the ending span is free of charge. */
  free?: string;
  /** From now on the current prices apply, even if no price change is on record. */
  renewed?: boolean;
}

export interface OnRecord<T> {
  id: string;
  account: string;
  createdAt: number;
  doc: T;
}

/** Returns what is charged for a record, and since when if nothing is metered yet. The default is the time of the change. */
export type WhatOf<T> = (record: OnRecord<T>) => (Payable & { since?: number }) | undefined;

/** The record after the change, and the writes that go with it. */
interface Moved<T extends Metering> {
  doc: T;
  writes: Write[];
}

/** The fields of a record that say how it is metered. They are written with every change of it, once it is metered. */
export function meteringIn({ span = null, spans, meteredUntil }: Metering): Metering {
  return spans === undefined ? {} : { span, spans, ...(meteredUntil !== undefined && { meteredUntil }) };
}

/** A stretch of time at one price. */
interface Stretch {
  from: number;
  price: Price | undefined;
}

const FROZEN = "frozen";

export class Meter<T extends Metering> {
  readonly #spans: Collection<KeptSpan>;
  readonly #whatOf: WhatOf<T>;
  readonly #prices: PricesInTime;

  constructor(store: Store, whatOf: WhatOf<T>, prices: PricesInTime = standingPrices) {
    this.#spans = new Collection(store, spans);
    this.#whatOf = whatOf;
    this.#prices = prices;
  }

  prepare(): Promise<void> {
    return this.#spans.prepare();
  }

  /** Meters a new record. An instance that already runs is metered from its start. */
  begin<D extends T>(record: OnRecord<D>): Moved<D> {
    const what = this.#whatOf(record);
    if (!what) return { doc: record.doc, writes: [] };
    return this.#open(record, record.doc, what, what.since ?? record.createdAt);
  }

  /** Spans follow each other without a gap or an overlap, and none has a negative length, whatever the clocks of nodes do. */
  move<D extends T>(before: OnRecord<T>, after: D, at: number, metered: Metered = {}): Moved<D> {
    const open = before.doc.span ?? undefined;
    const what = this.#whatOf({ ...before, doc: after });
    if (!open && !what) return { doc: after, writes: [] };
    if (!open) return this.#open(before, after, what!, Math.max(what!.since ?? at, before.doc.meteredUntil ?? 0));
    const was = this.#whatOf(before);
    const goesOn = what !== undefined && was !== undefined && open.phase === what.phase && isSame(was, what);
    const until = Math.max(at, open.from);
    const line = this.#line(open, was, until, metered);
    if (goesOn && line.length === 1) return { doc: after, writes: [] };
    const ended = this.#write(before, { was, open, line, until: goesOn ? null : until, free: metered.free });
    if (goesOn) return { doc: { ...after, ...ended.now }, writes: ended.writes };
    const gone: D = { ...after, ...ended.now, span: null, meteredUntil: until };
    if (!what) return { doc: gone, writes: ended.writes };
    const opened = this.#open(before, gone, what, until);
    return { doc: opened.doc, writes: [...ended.writes, ...opened.writes] };
  }

  /** The record is removed, which ends its open span. */
  end(record: OnRecord<T>, at: number, { free }: Metered = {}): Write[] {
    const open = record.doc.span;
    if (!open) return [];
    const until = Math.max(at, open.from);
    const was = this.#whatOf(record);
    return this.#write(record, { was, open, line: this.#line(open, was, until), until, free }).writes;
  }

  /** Whether prices have changed, or may have, since the record's open span began. */
  isOutdated(record: OnRecord<T>, now: number): boolean {
    const open = record.doc.span;
    const what = this.#whatOf(record);
    if (!open || !what) return what !== undefined;
    return this.#line(open, what, Math.max(now, open.from), { renewed: true }).length > 1;
  }

  /** The time since the open span began, split where its price changed. */
  #line(open: OpenSpan, was: Payable | undefined, until: number, { renewed }: Metered = {}): Stretch[] {
    const line: Stretch[] = [{ from: open.from, price: open.price }];
    if (!was) return line;
    const changes = open.price ? this.#prices.changes(open.from, until) : [];
    for (const from of renewed ? [...changes, until] : changes) {
      const price = priceOf(was, this.#prices.at(from));
      const last = line.at(-1)!.price;
      if (!last || !samePrice(last, price)) line.push({ from, price });
    }
    return line;
  }

  /**
   * Ends the open span where its price changed, or at the end, and writes the following spans at the new prices. The last one stays open if
   * there is no end.
   */
  #write(
    { id, account, doc }: OnRecord<T>,
    ending: {
      was: Payable | undefined;
      open: OpenSpan;
      line: Stretch[];
      until: number | null;
      free: string | undefined;
    },
  ): { writes: Write[]; now: Required<Pick<Metering, "span" | "spans">> } {
    const { was, open, line, until } = ending;
    const free = ending.free ?? (open.phase === "frozen" ? FROZEN : undefined);
    const ends = line.map((_, i) => line[i + 1]?.from ?? until);
    const first = doc.spans!;
    const writes = line.map(({ from, price }, i): Write => {
      const about = { from, to: ends[i]!, ...(free !== undefined && { free }) };
      if (i > 0) return this.#inserting(account, spanId(id, first + i), { ...kept(was!), price: price!, ...about });
      const { from: _, ...set } = about;
      const listed = was ? { listed: this.#spans.listing({ ...kept(was), price: ZERO, ...about }) } : {};
      // The record itself guards this write, so nobody else can end this span at the same moment.
      return { do: "patch", kind: spans.kind, id: spanId(id, first), set, ...listed };
    });
    const last = line.at(-1)!;
    const span = { phase: open.phase, from: last.from, ...(last.price && { price: last.price }) };
    return { writes, now: { spans: first + line.length - 1, span } };
  }

  #open<D extends T>({ id, account }: OnRecord<T>, doc: D, what: Payable, from: number): Moved<D> {
    const number = (doc.spans ?? 0) + 1;
    const price = priceOf(what, this.#prices.at(from));
    const free = what.phase === "frozen" ? { free: FROZEN } : {};
    const insert = this.#inserting(account, spanId(id, number), { ...kept(what), price, from, to: null, ...free });
    return { doc: { ...doc, spans: number, span: { phase: what.phase, from, price } }, writes: [insert] };
  }

  #inserting(account: string, id: string, span: KeptSpan): Write {
    return this.#spans.inserting({ id, account, createdAt: span.from, doc: span });
  }
}

const ZERO: Price = { gpu: 0, cpu: 0, disk: 0, storage: 0 };

const kept = ({ since: _, ...what }: Payable & { since?: number }): Payable => what;

/** Whether two cost the same at any prices and have the same owner. */
function isSame(a: Payable, b: Payable): boolean {
  const names = ["kind", "owner", "gpuType", "gpuCount", "flavor", "vcpu", "diskGb", "persistentGb", "tier"] as const;
  return names.every((name) => a[name] === b[name]) && a.yields?.bid === b.yields?.bid;
}
