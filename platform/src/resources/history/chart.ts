/** Turns stored blocks of all nodes into the columns of a chart. It is a pure function. */
import { addSpread, quantileOf, type Spread } from "../../kernel/histogram.ts";
import { Block, type ReadRow } from "./block.ts";
import { type Layout, shares, type Tier, unscaled } from "./model.ts";
import { OpenPoint } from "./point.ts";
import type { RecordedSpan, StoredSeries } from "./records.ts";

export interface Chart {
  layout: Layout;
  tier: Tier;
  /** The tier's index. */
  number: number;
  /** The first point. */
  first: number;
  points: number;
  stored: readonly StoredSeries[];
  spans: readonly RecordedSpan[];
  /** When the resource was created: points before it are null. */
  since: number;
  /** Points after this time are null. */
  now: number;
}

export type Columns = Record<string, (number | null)[]>;

/** The rows of one node, by point. */
type ByPoint = Map<number, ReadRow>;

export function columnsOf(chart: Chart): Columns {
  const { layout, first, points } = chart;
  const nodes = rowsByNode(chart);
  const spans = chart.spans.toSorted((a, b) => a.from - b.from);
  const columns: Columns = Object.fromEntries(namesOf(layout).map((name) => [name, []]));
  const carriers = new Map<RecordedSpan, Carrier>();
  for (let at = first; at < first + points; at++) {
    const span = spanOf(chart, spans, at);
    const isKnown = isWithin(chart, at);
    const held = span && carrierOf(chart, nodes, span, carriers).at(at);
    for (const [i, gauge] of layout.gauges.entries())
      columns[gauge.name]!.push(isKnown && held ? unscaled(gauge, held[i]!) : null);
    const rows = [...nodes.values()].flatMap((byPoint) => byPoint.get(at) ?? []);
    const isCounted = isKnown && (span !== undefined || rows.length > 0);
    for (const [i, { name }] of layout.sums.entries())
      columns[name]!.push(isCounted ? rows.reduce((sum, row) => sum + (row.sums[i] ?? 0), 0) : null);
    for (const [i, { name }] of layout.quantiles.entries()) {
      const spread: Spread = new Map();
      for (const row of rows) addSpread(spread, row.spreads[i] ?? []);
      for (const [end, share] of Object.entries(shares))
        columns[name + end]!.push(isKnown ? (quantileOf(spread, share) ?? null) : null);
    }
  }
  return columns;
}

/** The names of all series in an answer. */
const namesOf = ({ gauges, sums, quantiles }: Layout): string[] => [
  ...[...gauges, ...sums].map(({ name }) => name),
  ...quantiles.flatMap(({ name }) => Object.keys(shares).map((end) => name + end)),
];

function isWithin({ tier, since, now }: Chart, at: number): boolean {
  return (at + 1) * tier.stepMs > since && at * tier.stepMs <= now;
}

/** Finds the span that covers most of a point. The node of that span has the point's gauges. */
function spanOf({ tier: { stepMs } }: Chart, spans: readonly RecordedSpan[], at: number): RecordedSpan | undefined {
  let best: RecordedSpan | undefined;
  let most = -1;
  for (const span of spans) {
    if (span.from >= (at + 1) * stepMs || span.to < at * stepMs) continue;
    const common = Math.min(span.to, (at + 1) * stepMs) - Math.max(span.from, at * stepMs);
    if (common >= most) [best, most] = [span, common];
  }
  return best;
}

/**
 * Gives the gauges at each point of a span: those of the last row in the span, or zeros before the first row. A row whose step began before
 * the span counts for its own point only, because its values may have changed while no node sampled.
 */
class Carrier {
  readonly #rows: readonly ReadRow[];
  readonly #from: number;
  #next = 0;
  #held: readonly number[];

  constructor(rows: readonly ReadRow[], from: number, zeros: readonly number[]) {
    this.#rows = rows;
    this.#from = from;
    this.#held = zeros;
  }

  /** The caller must ask for points in ascending order. */
  at(point: number): readonly number[] {
    for (; this.#next < this.#rows.length; this.#next++) {
      const row = this.#rows[this.#next]!;
      if (row.at > point) break;
      if (row.at >= this.#from) this.#held = row.gauges;
      else if (row.at === point) return row.gauges;
    }
    return this.#held;
  }
}

function carrierOf(
  { tier, layout }: Chart,
  nodes: ReadonlyMap<string, ByPoint>,
  span: RecordedSpan,
  carriers: Map<RecordedSpan, Carrier>,
): Carrier {
  const known = carriers.get(span);
  if (known) return known;
  const rows = [...(nodes.get(span.by)?.values() ?? [])]
    .filter(({ at }) => (at + 1) * tier.stepMs > span.from && at * tier.stepMs <= span.to)
    .sort((a, b) => a.at - b.at);
  const zeros = layout.gauges.map(() => 0);
  const carrier = new Carrier(rows, Math.ceil(span.from / tier.stepMs), zeros);
  carriers.set(span, carrier);
  return carrier;
}

/** Reads blocks in ascending order, so that a later row of the same point wins. */
function rowsByNode({ layout, number, stored }: Chart): Map<string, ByPoint> {
  const nodes = new Map<string, ByPoint>();
  for (const { node, isHead, block, rows } of stored.toSorted((a, b) => a.block - b.block)) {
    const byPoint: ByPoint = nodes.get(node) ?? new Map();
    nodes.set(node, byPoint);
    if (!isHead || number === 0) for (const row of Block.of(layout, block, rows).rows()) put(byPoint, row);
  }
  for (const { node, open } of stored) {
    const kept = open?.[number];
    const row = kept && new OpenPoint(layout, kept.at, kept).row();
    if (row) put(nodes.get(node)!, { ...row, gauges: row.gauges ?? layout.gauges.map(() => 0) });
  }
  return nodes;
}

/** A row without counts does not replace the counts of an earlier row of the same point. */
function put(byPoint: ByPoint, row: ReadRow): void {
  const known = byPoint.get(row.at);
  const hasCounted = row.sums.some((sum) => sum > 0);
  byPoint.set(row.at, known && !hasCounted ? { ...known, gauges: row.gauges } : row);
}
