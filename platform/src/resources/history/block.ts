/** A block of points, packed: each point holds only what changed and what was counted, in a few bytes. */
import type { Spread } from "../../kernel/histogram.ts";
import { BLOCK_POINTS, type Layout } from "./model.ts";

/** One point as a block keeps it. */
export interface Row {
  /** The number of the point. */
  at: number;
  /** Scaled values. Absent if this node did not sample in that step. */
  gauges?: readonly number[] | undefined;
  sums: readonly number[];
  spreads: readonly Spread[];
}

/** A row as a block returns it. If the row had no gauges, these are the gauges of the row before it. */
export type ReadRow = Row & { gauges: readonly number[] };

/** The gauges that have not changed since an earlier point. */
export type Carried = Required<Pick<Row, "at" | "gauges">>;

export class Block {
  readonly number: number;
  readonly #layout: Layout;
  #bytes: Uint8Array;
  #at: number;
  #gauges: readonly number[];

  /** The block begins with `carried`, so that it can be read without the block before it. */
  constructor(layout: Layout, number: number, carried?: Carried) {
    this.#layout = layout;
    this.number = number;
    this.#bytes = new Uint8Array();
    this.#at = number * BLOCK_POINTS;
    this.#gauges = layout.gauges.map(() => 0);
    if (carried?.gauges.some((value) => value !== 0)) this.add({ ...carried, sums: [], spreads: [] });
  }

  /** Unpacks a block, which can then take more rows. */
  static of(layout: Layout, number: number, packed: string): Block {
    const block = new Block(layout, number);
    block.#bytes = Buffer.from(packed, "base64");
    const last = block.rows().at(-1);
    if (last) {
      block.#at = last.at;
      block.#gauges = last.gauges;
    }
    return block;
  }

  add({ at, gauges = this.#gauges, sums, spreads }: Row): void {
    const out: number[] = [];
    writeSigned(out, at - this.#at);
    writeChosen(
      out,
      gauges,
      (value, i) => value !== this.#gauges[i],
      (value, i) => signed(value - this.#gauges[i]!),
    );
    writeChosen(
      out,
      sums,
      (value) => value !== 0,
      (value) => value,
    );
    for (let i = 0; i < this.#layout.quantiles.length; i++) writeSpread(out, spreads[i]);
    this.#bytes = Buffer.concat([this.#bytes, Uint8Array.from(out)]);
    this.#at = at;
    this.#gauges = gauges;
  }

  /** Returns the rows in the order in which they were added. A row that is cut short ends the list. */
  rows(): ReadRow[] {
    const { gauges, sums, quantiles } = this.#layout;
    const reader = new Reader(this.#bytes);
    const rows: ReadRow[] = [];
    let at = this.number * BLOCK_POINTS;
    let values: readonly number[] = gauges.map(() => 0);
    while (reader.hasMore) {
      at += reader.signed();
      const deltas = reader.chosen(gauges.length).map(unsigned);
      values = values.map((value, i) => value + deltas[i]!);
      const counted = reader.chosen(sums.length);
      const spreads = quantiles.map(() => reader.spread());
      if (reader.isCut) break;
      rows.push({ at, gauges: values, sums: counted, spreads });
    }
    return rows;
  }

  packed(): string {
    return Buffer.from(this.#bytes).toString("base64");
  }
}

/** Maps signed numbers to unsigned ones, so that small numbers of either sign take one byte. */
const signed = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);
const unsigned = (value: number) => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);

/** Writes seven bits in each byte; the eighth bit says that more bytes follow. Bit operations would cut values at 32 bits. */
function write(out: number[], value: number): void {
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) out.push((left % 128) + 128);
  out.push(left);
}

const writeSigned = (out: number[], value: number) => write(out, signed(value));

/** Writes a mask that says which values follow, and then those values. */
function writeChosen(
  out: number[],
  values: readonly number[],
  isWritten: (value: number, i: number) => boolean,
  as: (value: number, i: number) => number,
): void {
  let mask = 0;
  for (const [i, value] of values.entries()) if (isWritten(value, i)) mask += 2 ** i;
  write(out, mask);
  for (const [i, value] of values.entries()) if (isWritten(value, i)) write(out, as(value, i));
}

function writeSpread(out: number[], spread: Spread = new Map()): void {
  write(out, spread.size);
  let before = 0;
  for (const [bucket, count] of [...spread].sort(([a], [b]) => a - b)) {
    write(out, bucket - before);
    write(out, count);
    before = bucket;
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  #next = 0;
  isCut = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get hasMore(): boolean {
    return !this.isCut && this.#next < this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 128) {
      const byte = this.#bytes[this.#next++];
      if (byte === undefined) {
        this.isCut = true;
        return 0;
      }
      value += (byte % 128) * unit;
      if (byte < 128) return value;
    }
  }

  signed(): number {
    return unsigned(this.number());
  }

  /** Reads a mask and the values that it announces. The other values are 0. */
  chosen(many: number): number[] {
    const mask = this.number();
    return Array.from({ length: many }, (_, i) => (Math.floor(mask / 2 ** i) % 2 === 1 ? this.number() : 0));
  }

  spread(): Spread {
    const spread: Spread = new Map();
    let bucket = 0;
    for (let left = this.number(); left > 0 && !this.isCut; left--) {
      bucket += this.number();
      spread.set(bucket, this.number());
    }
    return spread;
  }
}
