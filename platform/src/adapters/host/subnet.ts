/** Addresses of instances: a private range that nothing else on this machine uses. */

import { addressFrom, overlap, parseSubnet, type Subnet } from "../../kernel/subnet.ts";

/** A range for 1,021 instances. A Linux bridge takes 1,024 links. */
const BITS = 22;

/** Address 0 is the network itself, 1 is the machine's gateway, and the instances follow. */
export const GATEWAY = 1;
export const FIRST_INSTANCE = 2;
export const LAST_INSTANCE = 2 ** (32 - BITS) - 2;

const PRIVATE_BASE = addressFrom("10.0.0.0");
const CANDIDATES = 2 ** (BITS - 8);

/** The first range in 10.0.0.0/8, counted from a start that the seed chooses, that overlaps none of the used ones. */
export function chooseSubnet(used: readonly Subnet[], seed: number): Subnet | undefined {
  for (let tried = 0; tried < CANDIDATES; tried++) {
    const candidate = { base: PRIVATE_BASE + ((seed + tried) % CANDIDATES) * 2 ** (32 - BITS), bits: BITS };
    if (!used.some((one) => overlap(one, candidate))) return candidate;
  }
  return undefined;
}

/** The networks that the machine has routes to, from the output of `ip route show table all`. The default route does not count. */
export function routedSubnets(text: string): Subnet[] {
  return text.split("\n").flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const target = /^(local|broadcast|unreachable|blackhole|prohibit|throw|multicast)$/.test(words[0]!)
      ? words[1]
      : words[0];
    return (target && parseSubnet(target)) || [];
  });
}
