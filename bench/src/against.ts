/** Compares two checkouts: both servers stay up and take turns in short slices, so that a noisy machine affects both alike. */
import { median } from "./figures.ts";
import type { Databases } from "./postgres.ts";
import { echoSide, jobSide, SIDE_ROWS, type Side, type SideRow, sideName } from "./sides.ts";
import type { Line } from "./table.ts";

/** The number of requests before anything counts, and in each slice. */
const WARM_UP = 15_000;
const SLICE = 640;

export interface Comparing {
  /** The other checkout, with its packages installed. */
  other: string;
  rows: ReadonlySet<string>;
  slices: number;
  folder: string;
  databases?: Databases | undefined;
  say: (line: string) => void;
}

export async function measureAgainst(asked: Comparing): Promise<Line[]> {
  const lines: Line[] = [];
  for (const row of SIDE_ROWS) if (asked.rows.has(row)) lines.push(await compareRow(row, asked));
  return lines;
}

async function compareRow(row: SideRow, asked: Comparing): Promise<Line> {
  const { other, slices, say } = asked;
  await using opened = new AsyncDisposableStack();
  const ours = opened.use(await jobSide(row, asked));
  const theirs = opened.use(await jobSide(row, { ...asked, root: other }));
  const echo = opened.use(await echoSide());
  const [mine, standard, bare]: [number[], number[], number[]] = [[], [], []];
  for (const side of [ours, theirs, echo]) await side.slice(WARM_UP);
  for (let number = 0; number < slices; number++) {
    // The first one finds colder caches, so they take turns in that as well.
    const order = number % 2 === 0 ? [ours, theirs] : [theirs, ours];
    const costs = new Map<Side, number>();
    for (const side of [...order, echo]) costs.set(side, (await side.slice(SLICE)).all);
    mine.push(costs.get(ours)!);
    standard.push(costs.get(theirs)!);
    bare.push(costs.get(echo)!);
  }
  const [cost, before, of] = [undisturbed(mine), undisturbed(standard), undisturbed(bare)];
  const name = sideName(row);
  say(`  ${name.padEnd(20)} ${before.toFixed(1)} -> ${cost.toFixed(1)} µs of CPU each; echo ${of.toFixed(1)} µs`);
  const shares = `share of echo ${(of / before).toFixed(3)} -> ${(of / cost).toFixed(3)}`;
  const gains = mine.map((value, i) => standard[i]! / value);
  const whole = sum(standard) / sum(mine);
  const measured = `${(before / cost).toFixed(3)}, median of slices ${median(gains).toFixed(3)}, of all ${whole.toFixed(3)}; ${shares}`;
  return { row, name: `${name} against ${other}`, measured, wall: "", atLeast: "", aim: "", verdict: "" };
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Uses the lower quartile, because other programs can make a slice dearer but never cheaper. */
function undisturbed(costs: readonly number[]): number {
  return costs.toSorted((a, b) => a - b)[costs.length >> 2]!;
}
