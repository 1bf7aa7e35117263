/** What programs reach from a bridge of this machine, and who reaches them: lines of rules for `nft`. */
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
  /** What is not public and may be reached all the same. */
  reachable: readonly Range[];
  /** Where workers are told to ask this installation for work, if that is not at the bridge. */
  doors: readonly Door[];
  /** Name servers of this machine, wherever they are: they are asked for names and nothing else. */
  nameServers: readonly string[];
}

/** What programs reach where nobody says anything. */
export const INTERNET_ALONE: Egress = { reachable: [], doors: [], nameServers: [] };

const setOf = (elements: readonly string[]) => `{ ${elements.join(", ")} }`;

const fromTo = (bridge: string, range: string) =>
  `iifname ${bridge} ${isIPv4(range.split("/")[0]!) ? "ip" : "ip6"} daddr ${range}`;

/** Where programs ask for work and for names. For chains of `input` and of `forward`: both may be on this machine or elsewhere. */
export const serviceRules = (bridge: string, { doors, nameServers }: Egress): string[] => [
  ...doors.map(({ address, port }) => `${fromTo(bridge, address)} tcp dport ${port} accept`),
  ...nameServers.map((address) => `${fromTo(bridge, address)} meta l4proto { tcp, udp } th dport 53 accept`),
];

/** For a chain of `forward`. The internet is reached, and of all other addresses those that the operator names. */
export const egressRules = (bridge: string, egress: Egress): string[] => [
  ...egress.reachable.map((range) => `${fromTo(bridge, range)} accept`),
  ...serviceRules(bridge, egress),
  `iifname ${bridge} ip daddr ${setOf(SPECIAL_IPV4)} reject`,
  `iifname ${bridge} ip6 daddr ${setOf(SPECIAL_IPV6)} reject`,
];

/** For a chain of `forward`, before what refuses: who came by a published port gets in, and is answered, wherever he is. */
export const publishedRules = (bridge: string, { first, last }: PortRange): string[] => [
  `oifname ${bridge} meta l4proto tcp ct status dnat ct original proto-dst ${first}-${last} accept`,
  `iifname ${bridge} meta l4proto tcp ct status dnat ct direction reply ct original proto-dst ${first}-${last} accept`,
];

/** For a chain of `output`: the server runs as root where there are such rules, and nobody else on this machine has business there. */
export const ingressRules = (bridge: string): string[] => [`oifname ${bridge} meta skuid != 0 reject`];

const RESOLVER_FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/** What a URL leads to, as far as it can be known now. */
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
