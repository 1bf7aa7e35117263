/** Splits long work into slices, so that other work gets a turn of the event loop between two of them. */
import { turn } from "./clock.ts";

/** Counts work in any unit, and says when enough was done without a pause. */
export class Slices {
  readonly #most: number;
  #done = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Await this after doing so many units of work. It costs nothing until a slice is full. */
  did(units: number): Promise<void> | undefined {
    this.#done += units;
    if (this.#done < this.#most) return undefined;
    this.#done = 0;
    return turn();
  }
}

/** Works on the items one after the other, and pauses after every `most` of them. */
export async function inSlices<T>(items: Iterable<T>, most: number, work: (item: T) => Promise<void>): Promise<void> {
  const slices = new Slices(most);
  for (const item of items) {
    await work(item);
    await slices.did(1);
  }
}

/** Maps the items, and pauses after every `most` of them. */
export async function mappedInSlices<T, S>(items: readonly T[], most: number, map: (item: T) => S): Promise<S[]> {
  const slices = new Slices(most);
  const mapped: S[] = [];
  for (const item of items) {
    mapped.push(map(item));
    const pause = slices.did(1);
    if (pause) await pause;
  }
  return mapped;
}

/** Yields the same bytes in pieces of at most `most`. */
export function* bytesInSlices(pieces: Iterable<Uint8Array>, most: number): Generator<Uint8Array> {
  for (const piece of pieces) for (let at = 0; at < piece.length; at += most) yield piece.subarray(at, at + most);
}

/** Yields the items in their order, in arrays of at most `most`. */
export function* slicesOf<T>(items: readonly T[], most: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += most) yield items.slice(at, at + most);
}
