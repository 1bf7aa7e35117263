/** Makes rules for `nft`: what programs can reach from a bridge of this machine, and who can reach them. */
import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP, isIPv4 } from "node:net";
import { type Range, SPECIAL_IPV4, SPECIAL_IPV6 } from "../../kernel/addresses.ts";
import type { PortRange } from "./publish.ts";

export interface Door {
  address: string;
  port: number;
}

export interface Egress {
  /** Addresses that are not public but may be reached anyway. */
  reachable: readonly Range[];
  /** The addresses at which workers ask this installation for work, if that is not at the bridge. */
  doors: readonly Door[];
  /** The name servers of this machine. Programs may only send them DNS queries. */
  nameServers: readonly string[];
}

/** The default: programs reach only the internet. */
export const INTERNET_ALONE: Egress = { reachable: [], doors: [], nameServers: [] };

const setOf = (elements: readonly string[]) => `{ ${elements.join(", ")} }`;

const fromTo = (bridge: string, range: string) =>
  `iifname ${bridge} ${isIPv4(range.split("/")[0]!) ? "ip" : "ip6"} daddr ${range}`;

/**
 * Lets programs reach the server and the name servers. Both may be on this machine or elsewhere, so the rules fit `input` and `forward`
 * chains.
 */
export const serviceRules = (bridge: string, { doors, nameServers }: Egress): string[] => [
  ...doors.map(({ address, port }) => `${fromTo(bridge, address)} tcp dport ${port} accept`),
  ...nameServers.map((address) => `${fromTo(bridge, address)} meta l4proto { tcp, udp } th dport 53 accept`),
];

/** Rules for a `forward` chain: programs reach the internet, and other addresses only if the operator names them. */
export const egressRules = (bridge: string, egress: Egress): string[] => [
  ...egress.reachable.map((range) => `${fromTo(bridge, range)} accept`),
  ...serviceRules(bridge, egress),
  `iifname ${bridge} ip daddr ${setOf(SPECIAL_IPV4)} reject`,
  `iifname ${bridge} ip6 daddr ${setOf(SPECIAL_IPV6)} reject`,
];

/**
 * Rules for a `forward` chain, placed before those that refuse: connections to a published port get in and get answers, from any address.
 */
export const publishedRules = (bridge: string, { first, last }: PortRange): string[] => [
  `oifname ${bridge} meta l4proto tcp ct status dnat ct original proto-dst ${first}-${last} accept`,
  `iifname ${bridge} meta l4proto tcp ct status dnat ct direction reply ct original proto-dst ${first}-${last} accept`,
];

/** Rules for an `output` chain. The server runs as root wherever these rules exist, and no other user of this machine may connect. */
export const ingressRules = (bridge: string): string[] => [`oifname ${bridge} meta skuid != 0 reject`];

const RESOLVER_FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/** Returns the addresses that a URL leads to. The list is empty if its name cannot be resolved now. */
export async function doorsOf(url: string | undefined): Promise<Door[]> {
  if (url === undefined) return [];
  const { hostname, port, protocol } = new URL(url);
  const found = await lookup(hostname.replace(/^\[|\]$/g, ""), { all: true }).catch(() => []);
  return found.map(({ address }) => ({ address, port: Number(port) || (protocol === "https:" ? 443 : 80) }));
}

export async function nameServersOf(files: readonly string[] = RESOLVER_FILES): Promise<string[]> {
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8").catch(() => "")));
  const named = texts.flatMap((text) => [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, address]) => address!));
  return [...new Set(named)].filter((address) => isIP(address) !== 0 && !/^127\.|^::1$|%/.test(address));
}
