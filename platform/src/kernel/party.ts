/** Groups network addresses into those that count as one client. */
import { isIPv6 } from "node:net";

const MAPPED = /^::ffff:(?=\d+\.)/i;

/** Returns what counts as one address: an IPv4 address, or the IPv6 network that one customer usually gets. */
export function partyOf(address: string): string {
  const plain = address.replace(MAPPED, "").replace(/%.*$/, "");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail ? tail.split(":") : [];
  const zeros = tail === undefined ? 0 : 8 - front.length - back.length;
  return `${[...front, ...Array<string>(Math.max(0, zeros)).fill("0"), ...back].slice(0, 4).join(":")}::/64`;
}
