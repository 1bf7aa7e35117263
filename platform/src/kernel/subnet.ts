/** Ranges of IPv4 addresses, with addresses as numbers. */

export interface Subnet {
  /** The first address, as a number. */
  base: number;
  bits: number;
}

const addressText = (address: number) =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");

export const addressFrom = (text: string) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

export function parseSubnet(text: string): Subnet | undefined {
  const match = /^(\d+\.\d+\.\d+\.\d+)(?:\/(\d+))?$/.exec(text.trim());
  return match ? { base: addressFrom(match[1]!), bits: Number(match[2] ?? 32) } : undefined;
}

export const subnetText = ({ base, bits }: Subnet) => `${addressText(base)}/${bits}`;

export const sizeOf = ({ bits }: Subnet) => 2 ** (32 - bits);

export function overlap(a: Subnet, b: Subnet): boolean {
  const size = Math.max(sizeOf(a), sizeOf(b));
  return Math.floor(a.base / size) === Math.floor(b.base / size);
}

export const addressOf = ({ base }: Subnet, index: number) => addressText(base + index);
