/** Compares two checkouts: both servers stay up and take turns in short slices, so that a noisy machine affects both alike. */
import { median } from "./figures.ts";
import type { Databases } from "./postgres.ts";
import {
  type Cost,
  openSide,
  openStandard,
  SIDE_ROWS,
  type Side,
  type SideRow,
  sideName,
  standardOf,
} from "./sides.ts";
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
  const { folder, databases } = asked;
  const ours = opened.use(await openSide(row, { folder, databases }));
  const theirs = opened.use(await openSide(row, { folder, databases, root: other }));
  const peer = opened.use(await openStandard(row, { folder }));
  const [mine, standard, bare]: [number[], number[], number[]] = [[], [], []];
  const [main, mainBefore]: [number[], number[]] = [[], []];
  for (const side of [ours, theirs, peer]) await side.slice(WARM_UP);
  for (let number = 0; number < slices; number++) {
    // The first one finds colder caches, so they take turns in that as well.
    const order = number % 2 === 0 ? [ours, theirs] : [theirs, ours];
    const costs = new Map<Side, Cost>();
    for (const side of [...order, peer]) costs.set(side, await side.slice(SLICE));
    mine.push(costs.get(ours)!.all);
    standard.push(costs.get(theirs)!.all);
    bare.push(costs.get(peer)!.all);
    main.push(costs.get(ours)!.main);
    mainBefore.push(costs.get(theirs)!.main);
  }
  const [cost, before, of] = [undisturbed(mine), undisturbed(standard), undisturbed(bare)];
  const name = sideName(row);
  say(
    `  ${name.padEnd(20)} ${before.toFixed(1)} -> ${cost.toFixed(1)} µs of CPU each; ${standardOf(row)} ${of.toFixed(1)} µs`,
  );
  say(
    `  ${"in the main thread".padEnd(20)} ${undisturbed(mainBefore).toFixed(1)} -> ${undisturbed(main).toFixed(1)} µs`,
  );
  const shares = `share of ${standardOf(row)} ${(of / before).toFixed(3)} -> ${(of / cost).toFixed(3)}`;
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
