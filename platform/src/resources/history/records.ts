/** Stores series: for each resource and node a head and a ring of blocks. One commit writes many resources. */
import { eachOf } from "../../kernel/bounded.ts";
import type { Document, Kept } from "../../kernel/document.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import { Block } from "./block.ts";
import { BLOCK_POINTS, blockOf, slotsOf, tiers } from "./model.ts";
import type { KeptPoint } from "./point.ts";
import type { Head, Track } from "./track.ts";

/** A block of one tier, or a head, which belongs to every tier. Each node writes its own records, and readers add them up. */
type KeptSeries = {
  of: string;
  node: string;
  /** Absent in a head. */
  tier?: number;
  block: number;
  rows: string;
  /** The open points by tier. Only a head has them. */
  open?: (KeptPoint | null)[];
};

const series: Kept<KeptSeries> = {
  kind: "metrics-series",
  v: 1,
  listed: ({ of, tier }) => ({
    of: tier === undefined ? tiers.map((_, each) => inTier(of, each)) : inTier(of, tier),
    head: tier === undefined ? "yes" : undefined,
  }),
};

/** The time in which a node sampled. Outside of all spans, gauges are unknown. */
export type RecordedSpan = { by: string; from: number; to: number };
type KeptSpans = { spans: RecordedSpan[] };

const recordedSpans: Kept<KeptSpans> = { kind: "metrics-spans", v: 1 };
const SPANS = "all";
const EVERYONE = "*";

const inTier = (key: string, tier: number) => `${key}/${tier}`;
const headId = (key: string, node: string) => `${key}.${node}`;
const blockId = (key: string, node: string, tier: number, block: number) =>
  `${headId(key, node)}.${tier}.${block % slotsOf(tiers[tier]!)}`;

/** How many resources one commit writes. */
const TOGETHER = 100;
const READ_AT_ONCE = 16;
const KEPT_MS = 31 * 24 * 3_600_000;
/** Every start of a server adds a span. Beyond this many, the oldest are dropped. */
const MOST_SPANS = 300;

/** A stored block or head of a resource, by one node. */
export interface StoredSeries {
  node: string;
  isHead: boolean;
  block: number;
  rows: string;
  open?: (KeptPoint | null)[] | undefined;
}

export class SeriesRecords {
  readonly #store: Store;
  readonly #series: Collection<KeptSeries>;
  readonly #spans: Collection<KeptSpans>;

  constructor({ store }: { store: Store }) {
    this.#store = store;
    this.#series = new Collection(store, series);
    this.#spans = new Collection(store, recordedSpans);
  }

  async prepare(): Promise<void> {
    await this.#series.prepare();
    await this.#spans.prepare();
  }

  async headOf(key: string, node: string): Promise<Head | undefined> {
    const item = await this.#series.get(headId(key, node));
    return item && { block: item.doc.block, rows: item.doc.rows, open: item.doc.open ?? [] };
  }

  /** Returns the blocks and heads of all nodes. */
  async stored(key: string, tier: number): Promise<StoredSeries[]> {
    const found: StoredSeries[] = [];
    for await (const { doc } of this.#series.all({ key: { name: "of", value: inTier(key, tier) } }))
      found.push({ ...doc, isHead: doc.tier === undefined });
    return found;
  }

  async spans(): Promise<RecordedSpan[]> {
    return [...((await this.#spans.get(SPANS))?.doc.spans ?? [])];
  }

  /** Stores a node's own spans next to those of other nodes, which may do the same at this moment. */
  async noteSpans(own: readonly RecordedSpan[], now: number): Promise<void> {
    const isSame = (a: RecordedSpan, b: RecordedSpan) => a.by === b.by && a.from === b.from;
    const withOwn = (known: readonly RecordedSpan[]) =>
      [...known.filter((one) => one.to >= now - KEPT_MS && !own.some((mine) => isSame(mine, one))), ...own]
        .sort((a, b) => a.from - b.from)
        .slice(-MOST_SPANS);
    const changed = await this.#spans.change(SPANS, ({ doc }) => ({ set: { spans: withOwn(doc.spans) } }));
    if (!changed) await this.#spans.put({ id: SPANS, account: EVERYONE, createdAt: now, doc: { spans: withOwn([]) } });
  }

  /**
   * Stores what waits in these tracks. Returns the tracks whose records are missing, or exist unexpectedly. Usually their resource was
   * deleted meanwhile. The caller must drop them.
   */
  async write(tracks: readonly Track[], node: string, now: number): Promise<Track[]> {
    const lost: Track[] = [];
    for (let from = 0; from < tracks.length; from += TOGETHER)
      lost.push(...(await this.#writeTogether(tracks.slice(from, from + TOGETHER), node, now)));
    return lost;
  }

  /** Removes the series of a resource, of all nodes. */
  async remove(key: string): Promise<void> {
    for (const tier of tiers.keys())
      for await (const { id } of this.#series.all({ key: { name: "of", value: inTier(key, tier) } }))
        await this.#series.removeIfThere(id);
  }

  /**
   * Removes what is older than a moment. The newest block of a tier stays while its node records, because values that do not change are
   * read from it, however old it is. Each node removes its own blocks, since it may be writing them; those of nodes that are no longer
   * there are removed by the one that samples.
   */
  async removeBefore(moment: number, { mine, isGone }: { mine: string; isGone: (node: string) => Promise<boolean> }) {
    const newest = new Map<string, { id: string; doc: KeptSeries }>();
    const gone = new Map<string, boolean>();
    for await (const { id, doc } of this.#series.all()) {
      const { node } = doc;
      if (!gone.has(node)) gone.set(node, node !== mine && (await isGone(node)));
      if (gone.get(node)) {
        if (endOf(doc) <= moment) await this.#series.removeIfThere(id);
        continue;
      }
      if (node !== mine || doc.tier === undefined) continue;
      const place = inTier(doc.of, doc.tier);
      const [older, newer] = inOrder(newest.get(place), { id, doc });
      newest.set(place, newer);
      if (older && endOf(older.doc) <= moment) await this.#series.removeIfThere(older.id);
    }
  }

  /** Yields the key of every resource that has a head, once each. */
  async *keys(): AsyncGenerator<string> {
    const seen = new Set<string>();
    for await (const { doc } of this.#series.all({ key: { name: "head", value: "yes" } })) {
      if (seen.has(doc.of)) continue;
      seen.add(doc.of);
      yield doc.of;
    }
  }

  async #writeTogether(tracks: readonly Track[], node: string, now: number): Promise<Track[]> {
    const prepared = new Map<Track, Write[]>();
    await eachOf(tracks, READ_AT_ONCE, async (track) => {
      prepared.set(track, await this.#writesOf(track, node, now));
    });
    const lost: Track[] = [];
    for (let left = [...prepared]; left.length > 0; ) {
      const writes = left.flatMap(([track, own]) => own.map((write) => ({ track, write })));
      try {
        await this.#store.commit(writes.map(({ write }) => write));
        for (const [track] of left) track.written();
        return lost;
      } catch (error) {
        if (!(error instanceof WriteRefused)) throw error;
        const { track } = writes[error.index]!;
        lost.push(track);
        left = left.filter(([one]) => one !== track);
      }
    }
    return lost;
  }

  async #writesOf(track: Track, node: string, now: number): Promise<Write[]> {
    const { key, layout, subject, waiting } = track;
    const at = { account: subject.account, createdAt: now };
    const blocks = waiting.left.map((block) => ({ tier: 0, block }));
    for (const [tier, points] of waiting.points.entries()) {
      for (const [number, rows] of Map.groupBy(points, ({ row }) => blockOf(row.at))) {
        const stored = await this.#series.get(blockId(key, node, tier, number));
        const block =
          stored?.doc.block === number
            ? Block.of(layout, number, stored.doc.rows)
            : new Block(layout, number, rows[0]!.before);
        for (const { row } of rows) block.add(row);
        blocks.push({ tier, block });
      }
    }
    const writes: Write[] = [];
    const head = { of: key, node, ...track.head() };
    writes.push(this.#put(headId(key, node), at, head, track.isStored));
    const known = new Map<string, Item<KeptSeries> | undefined>();
    for (const { tier, block } of blocks) {
      const id = blockId(key, node, tier, block.number);
      if (!known.has(id)) known.set(id, await this.#series.get(id));
      const doc = { of: key, node, tier, block: block.number, rows: block.packed() };
      writes.push(this.#put(id, at, doc, known.get(id) !== undefined || writes.some((write) => isOf(write, id))));
    }
    return writes;
  }

  /** A patch does not touch the list keys, which never change. That saves most of the cost of a write. */
  #put(id: string, at: { account: string; createdAt: number }, doc: KeptSeries, isThere: boolean): Write {
    if (!isThere) return this.#series.inserting({ id, ...at, doc });
    return { do: "patch", kind: series.kind, id, set: doc satisfies Document };
  }
}

/** When the last point of a block ends, or the last one of a head, whose block is of the finest tier. */
function endOf({ tier = 0, block, open = [] }: KeptSeries): number {
  const opened = open.map((point, each) => (point ? (point.at + 1) * tiers[each]!.stepMs : 0));
  return Math.max((block + 1) * BLOCK_POINTS * tiers[tier]!.stepMs, ...opened);
}

function inOrder<T extends { doc: KeptSeries }>(one: T | undefined, other: T): [older: T | undefined, newer: T] {
  return one && one.doc.block > other.doc.block ? [other, one] : [one, other];
}

const isOf = (write: Write, id: string) => write.do === "insert" && write.record.id === id;
