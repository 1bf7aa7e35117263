/** Address ranges for reserved networks, for drivers that give each network a range of its own. */
import { createHash } from "node:crypto";
import { addressOf, overlap, parseSubnet, type Subnet, sizeOf, subnetText } from "../../kernel/subnet.ts";
import type { NetworkAsk } from "./groups.ts";

const PRIVATE = parseSubnet("10.0.0.0/8")!;
/** A range of this size has room for all members that a network may have. */
const BITS = 24;
/** How many ranges are tried if others are in use. Trying more would hardly help. */
const MOST_TRIES = 64;
/** The first two addresses are the range's own and, if there is one, the machine's end. */
const FIRST_MEMBER = 2;

export type RangeAsk = Pick<NetworkAsk, "range" | "avoid">;

/**
 * Yields the ranges to try for a network, first the one it had. The others depend on its key, so two installations do not start with the
 * same ones.
 */
export function* rangesFor(key: string, { range: before, avoid = [] }: RangeAsk): Generator<string> {
  if (before !== undefined && isRange(before) && !avoid.includes(before)) yield before;
  const size = 2 ** (32 - BITS);
  const count = sizeOf(PRIVATE) / size;
  for (let n = 0; n < MOST_TRIES; n++) {
    const place = createHash("sha256").update(`${key}\0${n}`).digest().readUInt32BE() % count;
    const range = subnetText({ base: PRIVATE.base + place * size, bits: BITS });
    if (!avoid.includes(range)) yield range;
  }
}

/** A range that was stored elsewhere may be any text by now. */
function isRange(text: string): boolean {
  const subnet = parseSubnet(text);
  return subnet?.bits === BITS && subnet.base % sizeOf(subnet) === 0 && overlap(subnet, PRIVATE);
}

export const isFreeOf = (range: string, used: readonly Subnet[]): boolean =>
  !used.some((one) => overlap(one, parseSubnet(range)!));

/** Returns the addresses of this many members. They are always the same. */
export const addressesIn = (range: string, members: number): string[] =>
  Array.from({ length: members }, (_, n) => addressOf(parseSubnet(range)!, FIRST_MEMBER + n));
