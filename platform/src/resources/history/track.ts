/** A track holds one resource's series on this node: the open points of all tiers, and the closed points that are not stored yet. */
import { Block, type Carried, type Row } from "./block.ts";
import { blockOf, keyOf, type Layout, layouts, pointAt, type Subject, slotsOf, tiers } from "./model.ts";
import { type Counted, type KeptPoint, OpenPoint, type Sample } from "./point.ts";

/** The head of a resource on a node: the newest block of the finest tier, and the open points of all tiers. */
export interface Head {
  block: number;
  rows: string;
  open: (KeptPoint | null)[];
}

/** A closed point that is not in its block yet, with the gauges from before it. */
export interface Waiting {
  row: Row;
  before: Carried | undefined;
}

const FINEST = 0;
/** The time between two samples. */
export const SAMPLE_MS = tiers[FINEST].stepMs;
const samplesBefore = (now: number, from: number) => Math.floor((now - from) / SAMPLE_MS);
/** While the store is away, at most this many points of a tier wait. The oldest are dropped first. */
const MOST_WAITING = Math.max(...tiers.map(({ points }) => points));

export class Track {
  readonly subject: Subject;
  readonly key: string;
  readonly layout: Layout;
  readonly #zeros: readonly number[];
  readonly #open: (OpenPoint | undefined)[];
  /** By tier, the gauges that a reader carries forward from the last row. A new span of recording starts without any. */
  #carried: (Carried | undefined)[] = [];
  /** By tier, whether the open point has every sample of its step. */
  readonly #isFollowed: boolean[] = [];
  /** By tier, the sample whose point came to the carried gauges. While it is the only one, its points say nothing new. */
  #steady: (Sample | undefined)[] = [];
  #spanFrom = Number.POSITIVE_INFINITY;
  #block: Block | undefined;
  /** Closed points by tier. The finest tier uses the head block and `#left` instead. */
  #waiting: Waiting[][] = tiers.map(() => []);
  #left: Block[] = [];
  /** True if a count or a closed point is not stored yet. */
  isDirty = false;
  /** Whether the store has a head of this resource. */
  isStored: boolean;

  constructor(subject: Subject, head?: Head) {
    this.subject = subject;
    this.key = keyOf(subject);
    this.layout = layouts[subject.kind];
    this.#zeros = this.layout.gauges.map(() => 0);
    this.isStored = head !== undefined;
    if (head) this.#block = Block.of(this.layout, head.block, head.rows);
    this.#open = tiers.map((_, tier) => {
      const kept = head?.open[tier];
      return kept ? new OpenPoint(this.layout, kept.at, kept) : undefined;
    });
  }

  /** Called when this node starts or stops sampling. Readers carry no gauges over this moment. */
  beginSpan(now: number): void {
    this.#carried = [];
    this.#steady = [];
    this.#spanFrom = now;
  }

  /** Adds what was counted since the last tick, closes the points whose step is over, and adds the sample. */
  note(now: number, counted: Counted | undefined, sample: Sample | undefined): void {
    if (counted) {
      this.isDirty = true;
      for (const tier of tiers.keys()) this.#pointOf(tier, now).count(counted);
    }
    for (let tier = 0; tier < tiers.length; tier++) this.#closeBefore(tier, now);
    if (!sample) return;
    // A sample alone does not make the track dirty: constant values cost no writes, and a change is written when its point closes.
    for (let tier = 0; tier < tiers.length; tier++) {
      const point = this.#pointOf(tier, now);
      if (!this.#isFollowed[tier])
        point.missed(samplesBefore(now, Math.max(this.#spanFrom, point.at * tiers[tier]!.stepMs)));
      this.#isFollowed[tier] = true;
      point.sample(sample);
    }
  }

  /** True if the track holds only zeros and everything is stored. The recorder can then drop it. */
  get isAtRest(): boolean {
    if (this.isDirty || this.#left.length > 0 || this.#waiting.some(({ length }) => length > 0)) return false;
    return tiers.every((_, tier) => {
      const point = this.#open[tier];
      const isOpen = point !== undefined && (point.hasCounted || !point.comesTo(this.#zeros));
      return !isOpen && this.#heldIn(tier).every((value) => value === 0);
    });
  }

  head(): Head {
    return {
      block: this.#block?.number ?? 0,
      rows: this.#block?.packed() ?? "",
      open: this.#open.map((point) => point?.kept() ?? null),
    };
  }

  /** Returns the closed points of a tier that are not stored yet, as blocks. */
  unwritten(tier: number): Block[] {
    const blocks = Map.groupBy(this.#waiting[tier]!, ({ row }) => blockOf(row.at));
    const waiting = [...blocks].map(([number, points]) => {
      const block = new Block(this.layout, number, points[0]!.before);
      for (const { row } of points) block.add(row);
      return block;
    });
    return tier === FINEST ? [...this.#left, ...waiting] : waiting;
  }

  /** What must be written besides the head: whole blocks of the finest tier, and closed points of the others. */
  get waiting(): { left: readonly Block[]; points: readonly (readonly Waiting[])[] } {
    return { left: this.#left, points: this.#waiting };
  }

  /** Called once everything in `waiting` and the head are stored. */
  written(): void {
    this.#left = [];
    this.#waiting = tiers.map(() => []);
    this.isDirty = false;
    this.isStored = true;
  }

  #heldIn(tier: number): readonly number[] {
    return this.#carried[tier]?.gauges ?? this.#zeros;
  }

  /** Returns the open point of a tier. What was counted since the last tick goes into the point that was open then. */
  #pointOf(tier: number, now: number): OpenPoint {
    this.#open[tier] ??= new OpenPoint(this.layout, pointAt(tiers[tier]!, now));
    return this.#open[tier];
  }

  #closeBefore(tier: number, now: number): void {
    const point = this.#open[tier];
    const next = pointAt(tiers[tier]!, now);
    // If the clock was set back, the open point continues.
    if (!point || point.at >= next) return;
    const { only, hasCounted } = point;
    if (hasCounted || only === undefined || only !== this.#steady[tier]) {
      const isSame = point.comesTo(this.#heldIn(tier));
      if (hasCounted || !isSame) this.#close(tier, point.row());
      this.#steady[tier] = isSame ? only : undefined;
    }
    point.renew(next);
  }

  #close(tier: number, row: Row): void {
    this.isDirty = true;
    const before = this.#carried[tier];
    // A step that began before the span says nothing about later steps.
    if (row.gauges && row.at * tiers[tier]!.stepMs >= this.#spanFrom)
      this.#carried[tier] = { at: row.at, gauges: row.gauges };
    if (tier === FINEST) this.#append(row, before);
    else this.#waiting[tier] = [...this.#waiting[tier]!, { row, before }].slice(-MOST_WAITING);
  }

  /** Appends to the head block. A point of a later block starts a new head block, and the old one waits to be written. */
  #append(row: Row, before: Carried | undefined): void {
    const number = blockOf(row.at);
    if (this.#block && this.#block.number !== number) {
      this.#left = [...this.#left, this.#block].slice(-slotsOf(tiers[FINEST]));
      this.#block = undefined;
    }
    this.#block ??= new Block(this.layout, number, before);
    this.#block.add(row);
  }
}
