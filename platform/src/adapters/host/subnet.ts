/** Addresses of instances: a private range that nobody on this machine uses. */

export interface Subnet {
  /** The first address, as a number. */
  base: number;
  bits: number;
}

/** Room for 1,021 instances; a bridge of Linux takes 1,024 links. */
const BITS = 22;

export const addressText = (address: number) =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");

const addressFrom = (text: string) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

export function parseSubnet(text: string): Subnet | undefined {
  const match = /^(\d+\.\d+\.\d+\.\d+)(?:\/(\d+))?$/.exec(text.trim());
  return match ? { base: addressFrom(match[1]!), bits: Number(match[2] ?? 32) } : undefined;
}

export const subnetText = ({ base, bits }: Subnet) => `${addressText(base)}/${bits}`;

export function overlap(a: Subnet, b: Subnet): boolean {
  const size = 2 ** (32 - Math.min(a.bits, b.bits));
  return Math.floor(a.base / size) === Math.floor(b.base / size);
}

/** The machine's end of the network, then the instances: 0 is the network's own name, 1 the gateway. */
export const GATEWAY = 1;
export const FIRST_INSTANCE = 2;
export const LAST_INSTANCE = 2 ** (32 - BITS) - 2;
export const addressOf = ({ base }: Subnet, index: number) => addressText(base + index);

const PRIVATE_BASE = addressFrom("10.0.0.0");
const CANDIDATES = 2 ** (BITS - 8);

/** The first range of 10.0.0.0/8, from a place that the seed chooses, that touches none of these. */
export function chooseSubnet(used: readonly Subnet[], seed: number): Subnet | undefined {
  for (let tried = 0; tried < CANDIDATES; tried++) {
    const candidate = { base: PRIVATE_BASE + ((seed + tried) % CANDIDATES) * 2 ** (32 - BITS), bits: BITS };
    if (!used.some((one) => overlap(one, candidate))) return candidate;
  }
  return undefined;
}

/** Networks that the machine has routes to, from the output of `ip route show table all`. The default route is no network. */
export function routedSubnets(text: string): Subnet[] {
  return text.split("\n").flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const target = /^(local|broadcast|unreachable|blackhole|prohibit|throw|multicast)$/.test(words[0]!)
      ? words[1]
      : words[0];
    return (target && parseSubnet(target)) || [];
  });
}
