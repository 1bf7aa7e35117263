/** Tells public addresses from special ones, by IANA's special-purpose registries, and reads the ranges that an operator allows. */
import { BlockList, isIP, isIPv4 } from "node:net";

/** IPv4 ranges that are not globally reachable, or that lead on to other addresses. */
export const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by customers of a provider, and by overlay networks
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, with the metadata services of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarking
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, with broadcast
] as const;

/**
 * IPv6 ranges: everything outside 2000::/3, since IANA assigns only from that range, and the parts of it that are special or embed an IPv4
 * address.
 */
export const SPECIAL_IPV6 = [
  "::/3", // unspecified, loopback, mapped and translated IPv4, discard
  "2001::/23", // protocol assignments, with Teredo
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "3fff::/20", // documentation
  "4000::/2", // not assigned, with segment routing
  "8000::/1", // not assigned, private, link-local, multicast
] as const;

export type Range = `${string}/${number}`;

/** Reads the setting for allowed addresses: `10.0.0.0/8,192.168.1.5`, or `all`. Other text throws an error that says what is expected. */
export function parseRanges(text: string): Range[] {
  if (text === "all") return ["0.0.0.0/0", "::/0"];
  const words = text.split(",").map((word) => word.trim());
  return words.filter((word) => word !== "").map(parseRange);
}

function parseRange(text: string): Range {
  const [, address = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const most = isIPv4(address) ? 32 : 128;
  if (isIP(address) === 0 || Number(prefix ?? most) > most)
    throw new Error("must be 'all', or addresses and ranges such as 10.0.0.0/8");
  return `${address}/${Number(prefix ?? most)}`;
}

/** Returns a function that tells whether an address lies in one of the ranges. */
export function within(ranges: readonly string[]): (address: string) => boolean {
  // Each family has a list of its own. A shared list would also check an IPv4 address in its IPv6 form, and that lies in `::/3`.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of ranges) {
    const [address, prefix] = range.split("/") as [string, string];
    const family = familyOf(address);
    lists[family].addSubnet(address, Number(prefix), family);
  }
  return (address) => lists[familyOf(address)].check(address, familyOf(address));
}

const familyOf = (address: string) => (isIPv4(address) ? "ipv4" : "ipv6");

/** True for addresses that belong to one machine, to one network or to nobody. */
export const isSpecial = within([...SPECIAL_IPV4, ...SPECIAL_IPV6]);
