/** Ranges of addresses for networks that are reserved, for drivers that give each a range of its own. */
import { createHash } from "node:crypto";
import { addressOf, overlap, parseSubnet, type Subnet, sizeOf, subnetText } from "../../kernel/subnet.ts";

const PRIVATE = parseSubnet("10.0.0.0/8")!;
/** With room for all members that a network may have. */
const BITS = 24;
/** So many that turn out to be somebody's are tried: more would hardly help. */
const MOST_TRIES = 64;
/** The first addresses of a range: its own name, and the machine's end where it has one. */
const FIRST_MEMBER = 2;

/** Those to try for a network, first the one that it had. Where the others begin, its key says: no two installations begin alike. */
export function* rangesFor(key: string, before: string | undefined): Generator<string> {
  if (before !== undefined && isRange(before)) yield before;
  const size = 2 ** (32 - BITS);
  const count = sizeOf(PRIVATE) / size;
  for (let n = 0; n < MOST_TRIES; n++) {
    const place = createHash("sha256").update(`${key}\0${n}`).digest().readUInt32BE() % count;
    yield subnetText({ base: PRIVATE.base + place * size, bits: BITS });
  }
}

/** A range that somebody kept may be anything by now. */
function isRange(text: string): boolean {
  const subnet = parseSubnet(text);
  return subnet?.bits === BITS && subnet.base % sizeOf(subnet) === 0 && overlap(subnet, PRIVATE);
}

export const isFreeOf = (range: string, used: readonly Subnet[]): boolean =>
  !used.some((one) => overlap(one, parseSubnet(range)!));

/** The addresses of so many members, the same for ever. */
export const addressesIn = (range: string, members: number): string[] =>
  Array.from({ length: members }, (_, n) => addressOf(parseSubnet(range)!, FIRST_MEMBER + n));
