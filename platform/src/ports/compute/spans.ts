/** Networks that span machines: what each machine tells the others about its end, and what all of them agree on. */
import { isIPv4 } from "node:net";
import { within } from "../../kernel/addresses.ts";

/** Where other machines reach this one for networks that it shares with them. */
export interface SpanEnd {
  /** An IP address of the machine. */
  address: string;
  /** The UDP port for packets of networks, in clear or inside what is encrypted. */
  port: number;
  /** The longest packet that the machine's network carries, in bytes. */
  mtu: number;
  /** Ranges of addresses between which the machine's operator lets things be sent in clear. */
  trusts: readonly string[];
  /** Absent if the machine cannot encrypt. */
  cipher?: Cipher;
  /** Why the machine cannot encrypt, and what to do about it. */
  cannotEncrypt?: string;
}

/** How a machine is reached encrypted. */
export interface Cipher {
  /** The machine's public key. */
  key: string;
  /** The UDP port for what is sent encrypted. */
  port: number;
  /** The address inside what is encrypted. It follows from the key, so no two machines have the same one. */
  inside: string;
}

/** The ability to let networks span machines. */
export interface Spanning {
  /** Absent while other machines cannot reach this one. */
  end?: SpanEnd;
  /** Why they cannot, and what to do about it. */
  lacks?: string;
  /** Which images can be members of such a network. If absent, any can. */
  images?: readonly ("host" | "container")[];
}

/** What holds for a spanning network on all of its machines, as long as it exists. */
export interface SpanTerms {
  /** Tells its packets from those of other networks. */
  number: number;
  /** The longest packet of its members, in bytes. */
  mtu: number;
  isEncrypted: boolean;
}

/** What a machine has to know about a spanning network. */
export interface Span extends SpanTerms {
  /** The other machines with members, as they are reached now. */
  others: readonly SpanEnd[];
  /** The names of the members on other machines. */
  elsewhere: readonly string[];
}

/** The highest number that a packet can carry. */
export const MOST_SPANS = 2 ** 24;

/** What encryption adds to a packet, at most. */
export const CIPHER_BYTES = 80;
/** What it takes to send a member's packet to another machine: frame, network number, UDP and IP. */
const frameBytes = (isIpv4: boolean) => (isIpv4 ? 50 : 70);

/** How packets get from one machine to the other, or undefined if they cannot. */
export function wayBetween(a: SpanEnd, b: SpanEnd): "plain" | "encrypted" | undefined {
  // Two nodes on one machine have the same address.
  if (a.address === b.address || isIPv4(a.address) !== isIPv4(b.address) || a.port !== b.port) return undefined;
  if (isTrusted(a, b)) return "plain";
  return a.cipher && b.cipher ? "encrypted" : undefined;
}

/** Both operators must trust both addresses. */
const isTrusted = (a: SpanEnd, b: SpanEnd) =>
  [a, b].every(({ trusts }) => [a, b].every(({ address }) => within(trusts)(address)));

/** What machines with these ends agree on. If one pair of them needs encryption, all use it. */
export function termsOf(ends: readonly SpanEnd[]): Omit<SpanTerms, "number"> {
  const pairs = ends.flatMap((one, n) => ends.slice(n + 1).map((other) => wayBetween(one, other)));
  const isEncrypted = pairs.some((way) => way !== "plain");
  // Addresses inside what is encrypted are of IPv6.
  const added = isEncrypted ? CIPHER_BYTES + frameBytes(false) : frameBytes(isIPv4(ends[0]!.address));
  return { isEncrypted, mtu: Math.min(...ends.map(({ mtu }) => mtu)) - added };
}
