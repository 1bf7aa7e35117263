/** Long work in slices: between two of them everybody else gets their turn. */
import { turn } from "./clock.ts";

/** Counts work in whatever unit measures it, and says when enough of it was done at a stretch. */
export class Slices {
  readonly #most: number;
  #done = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** To be awaited after work of so many units. Costs nothing until a slice is full. */
  did(units: number): Promise<void> | undefined {
    this.#done += units;
    if (this.#done < this.#most) return undefined;
    this.#done = 0;
    return turn();
  }
}

/** One after the other, so many at a stretch. */
export async function inSlices<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const slices = new Slices(most);
  for (const item of items) {
    await work(item);
    await slices.did(1);
  }
}

/** The same bytes, in pieces of at most so many. */
export function* bytesInSlices(pieces: Iterable<Uint8Array>, most: number): Generator<Uint8Array> {
  for (const piece of pieces) for (let at = 0; at < piece.length; at += most) yield piece.subarray(at, at + most);
}

/** The items in their order, so many in each. */
export function* slicesOf<T>(items: readonly T[], most: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += most) yield items.slice(at, at + most);
}
