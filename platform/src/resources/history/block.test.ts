/** A packed block: what comes out is what went in, in a few bytes for each point. */
import { expect, test } from "vitest";
import { SeededRandom } from "../../kernel/random.ts";
import { Block, type Row } from "./block.ts";
import { BLOCK_POINTS, layouts } from "./model.ts";

const layout = layouts.endpoint;

function randomRow(random: SeededRandom, at: number): Row {
  const sparse = (most: number) => (random.below(3) === 0 ? random.below(most) : 0);
  return {
    at,
    gauges: layout.gauges.map(() => sparse(2 ** 40)),
    sums: layout.sums.map(() => sparse(2 ** 33)),
    spreads: layout.quantiles.map(() => new Map([...new Set([random.below(50), 60])].map((b) => [b, 1 + sparse(999)]))),
  };
}

test("any rows come back as they were added, also when the block is taken up again in between", () => {
  const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000);
  console.log(`block: seed ${seed}`);
  const random = new SeededRandom(seed);
  for (let round = 0; round < 50; round++) {
    const number = random.below(1_000_000);
    let block = new Block(layout, number);
    const rows: Row[] = [];
    for (let at = number * BLOCK_POINTS; at < (number + 1) * BLOCK_POINTS; at += 1 + random.below(9)) {
      const row = randomRow(random, at);
      rows.push(row);
      block.add(row);
      if (random.below(5) === 0) block = Block.of(layout, number, block.packed());
    }
    expect(Block.of(layout, number, block.packed()).rows()).toEqual(rows);
  }
});

test("what held before a block stands in it as its first row", () => {
  const gauges = layout.gauges.map((_, i) => i);
  const block = new Block(layout, 10, { at: 555, gauges });
  block.add({ at: 603, gauges, sums: [1, 0, 0], spreads: [] });
  expect(block.rows().map(({ at, gauges, sums }) => [at, gauges, sums])).toEqual([
    [555, gauges, [0, 0, 0, 0, 0]],
    [603, gauges, [1, 0, 0, 0, 0]],
  ]);
});

test("a busy endpoint takes less than 3 bytes for each value of a point", () => {
  const random = new SeededRandom(3);
  const block = new Block(layout, 0);
  for (let at = 0; at < BLOCK_POINTS; at++) {
    const busy = layout.gauges.map(() => random.below(300));
    const spread = new Map(Array.from({ length: 6 }, (_, i) => [30 + i, 1 + random.below(100)]));
    block.add({ at, gauges: busy, sums: [400, 3, 1], spreads: [spread, spread] });
  }
  const values = layout.gauges.length + layout.sums.length + 2 * layout.quantiles.length;
  expect(block.packed().length / BLOCK_POINTS / values).toBeLessThan(5);
});

test("bytes that are cut short lose their last row alone", () => {
  const block = new Block(layout, 0);
  for (const at of [1, 2, 3]) block.add({ at, sums: [7, 300, 0], spreads: [] });
  const cut = Buffer.from(block.packed(), "base64").subarray(0, -1).toString("base64");
  expect(
    Block.of(layout, 0, cut)
      .rows()
      .map(({ at }) => at),
  ).toEqual([1, 2]);
});
