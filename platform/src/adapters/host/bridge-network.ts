/** A network for each instance: a namespace linked to a bridge of the machine, behind firewall rules that refuse all but the needed. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { addressOf, parseSubnet, type Subnet, subnetText } from "../../kernel/subnet.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { type Egress, egressRules, ingressRules, publishedRules, serviceRules } from "../../ports/compute/egress.ts";
import { type PortRange, PUBLISHED_PORTS } from "../../ports/compute/publish.ts";
import { connectTo } from "../machine/connection.ts";
import { Dialers } from "../machine/dialers.ts";
import { runTool } from "../machine/forker.ts";
import { hardwareAddressIn, isLink, linkNames } from "../machine/links.ts";
import { listenersSeenBy } from "../machine/listeners.ts";
import { find } from "../machine/tools.ts";
import { GroupBridges, type GroupMember } from "./group-bridges.ts";
import type { InstanceNetwork, Networked } from "./network.ts";
import { PublishedPorts } from "./published-ports.ts";
import { chooseSubnet, FIRST_INSTANCE, GATEWAY, LAST_INSTANCE, routedSubnets } from "./subnet.ts";

const NETWORK_SCRIPT = join(import.meta.dirname, "network.sh");
const LINK_PATIENCE_MS = 2_000;
const LOOK_AGAIN_MS = 5;
const FORWARDING = "/proc/sys/net/ipv4/ip_forward";

interface Tools {
  ip: string;
  nft: string;
  nsenter: string;
  unshare: string;
  iptables: string | undefined;
}

export interface BridgeOptions {
  /** Six characters that distinguish the networks of this machine. */
  key: string;
  /** The file that records the chosen addresses, so that instances keep theirs when the server restarts. */
  file: string;
  seed: number;
  clock: Clock;
  egress: Egress;
  /** Ports of the machine that can be forwarded to instances. */
  publishedPorts?: PortRange | undefined;
}

export const bridgeName = (key: string) => `mr${key}`;
export const tableName = (key: string) => `millrace_${key}`;

/**
 * A place in the network always has the same hardware address. A bridge without a fixed address takes the lowest of its ports, and changes
 * it when that instance leaves. The other instances would then send to the old address, in vain, until they ask again who has the gateway's
 * address, 7 to 73 s later. In the same way the machine would send to the previous instance of a place.
 */
const hardwareAddress = (key: string, index: number) =>
  ["02", ...(key + index.toString(16).padStart(4, "0")).match(/../g)!].join(":");

/**
 * The rules for one bridge, and for the bridges of groups, which lead nowhere else. Instances reach the link's ports on the machine, no
 * other instance, and no other network than the internet and what the settings allow.
 */
export function ruleset(
  key: string,
  subnet: Subnet,
  { linkPorts, egress, published }: { linkPorts: readonly number[]; egress: Egress; published: PortRange },
): string {
  const bridge = `"${bridgeName(key)}"`;
  const groups = `"${bridgeName(key)}g*"`;
  const ports = linkPorts.length > 0 ? `elements = { ${linkPorts.join(", ")} }` : "";
  return `table inet ${tableName(key)}
delete table inet ${tableName(key)}
table inet ${tableName(key)} {
  set link { type inet_service; ${ports} }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname ${groups} drop
    iifname ${bridge} ct state established,related accept
    iifname ${bridge} ip daddr ${addressOf(subnet, GATEWAY)} tcp dport @link accept
    ${serviceRules(bridge, egress).join("\n    ")}
    iifname ${bridge} reject
  }
  chain forward {
    type filter hook forward priority -10; policy accept;
    iifname ${groups} oifname != ${groups} drop
    iifname != ${groups} oifname ${groups} drop
    oifname ${bridge} ct state established,related accept
    ${publishedRules(bridge, published).join("\n    ")}
    oifname ${bridge} reject
    iifname ${bridge} meta nfproto ipv6 reject
    ${egressRules(bridge, egress).join("\n    ")}
  }
  chain output {
    type filter hook output priority -10; policy accept;
    oifname ${groups} drop
    oifname ${bridge} ct state established,related accept
    ${ingressRules(bridge).join("\n    ")}
  }
  chain outgoing {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${subnetText(subnet)} oifname != ${bridge} masquerade
  }
}
`;
}

/** Rules are inserted at the front of the chain, so the last one here is checked first. */
const dockerRules = (bridge: string) => [
  `-o ${bridge} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
  `-o ${bridge} -m conntrack --ctstate DNAT -j ACCEPT`,
  `-i ${bridge} -j ACCEPT`,
  `-i ${bridge} -o br-+ -j RETURN`,
  `-i ${bridge} -o docker0 -j RETURN`,
  `-i ${bridge}g+ -o ${bridge}g+ -j ACCEPT`,
];

export class BridgeNetwork implements InstanceNetwork {
  readonly own = true;
  readonly groups: GroupBridges;
  readonly #key: string;
  readonly #subnet: Subnet;
  readonly #tools: Tools;
  readonly #clock: Clock;
  readonly #file: string;
  readonly #egress: Egress;
  readonly #range: PortRange;
  readonly published: PublishedPorts;
  readonly #linkPorts = new Set<number>();
  readonly #dialers: Dialers;
  /** Why the rules could not be renewed. */
  #cannotRenew: string | undefined;

  private constructor(subnet: Subnet, tools: Tools, { key, seed, clock, file, egress, publishedPorts }: BridgeOptions) {
    this.#egress = egress;
    this.#range = publishedPorts ?? PUBLISHED_PORTS;
    this.published = new PublishedPorts({
      nft: tools.nft,
      table: tableName(key),
      bridge: bridgeName(key),
      range: this.#range,
      seed,
      addressOf: (index) => addressOf(subnet, index),
    });
    this.#key = key;
    this.#subnet = subnet;
    this.#tools = tools;
    this.#dialers = new Dialers(tools.nsenter, clock);
    this.#clock = clock;
    this.#file = file;
    const used = () => usedSubnets(tools, egress);
    this.groups = new GroupBridges({ bridge: bridgeName(key), ip: tools.ip, used });
  }

  /** Creates the bridge and its rules, or finds them. Throws with the reason where that is impossible. */
  static async open(options: BridgeOptions): Promise<BridgeNetwork> {
    const tools = await findTools();
    // Without the bridge no instance has an address in the kept range, and another network may have taken the range since.
    const kept = (await isLink(bridgeName(options.key))) ? await keptSubnet(options.file) : undefined;
    const subnet = kept ?? (await freshSubnet(tools, options.seed));
    await writeFile(options.file, subnetText(subnet));
    const network = new BridgeNetwork(subnet, tools, options);
    await network.#raise();
    return network;
  }

  get linkHost(): string {
    return addressOf(this.#subnet, GATEWAY);
  }

  get traces() {
    return [bridgeName(this.#key), tableName(this.#key)] as const;
  }

  async #raise(): Promise<void> {
    const bridge = bridgeName(this.#key);
    const lines = [
      // Setting an address explicitly, even to its current value, fixes it while ports come and go. Earlier releases left the choice to the
      // bridge.
      (await isLink(bridge))
        ? `link set dev ${bridge} address ${await this.#hardwareAddressOf(bridge)}`
        : `link add name ${bridge} address ${hardwareAddress(this.#key, GATEWAY)} type bridge`,
      // An existing bridge needs this too: the server that created it may have been killed before this step.
      `address replace ${this.linkHost}/${this.#subnet.bits} dev ${bridge}`,
      `link set dev ${bridge} up`,
    ];
    await runTool(this.#tools.ip, ["-batch", "-"], `${lines.join("\n")}\n`);
    await this.#applyRules();
    await writeFile(FORWARDING, "1");
    await this.#passDocker("-I");
  }

  async #hardwareAddressOf(link: string): Promise<string> {
    const address = hardwareAddressIn(await runTool(this.#tools.ip, ["-o", "link", "show", "dev", link]));
    if (!address) throw new Error(`the link ${link} has no hardware address`);
    return address;
  }

  /** Lets instances reach a port of the gateway's address. */
  async openLink(port: number): Promise<void> {
    this.#linkPorts.add(port);
    await this.#applyRules();
  }

  /** Replaces the rules in one step, whether or not they are still complete. While that fails, no new instance is let in. */
  async renew(): Promise<void> {
    try {
      await this.#applyRules();
      await this.#passDocker("-I");
      this.#cannotRenew = undefined;
    } catch (error) {
      this.#cannotRenew = (error as Error).message;
      throw error;
    }
  }

  async #applyRules(): Promise<void> {
    const open = { linkPorts: [...this.#linkPorts], egress: this.#egress, published: this.#range };
    await runTool(this.#tools.nft, ["-f", "-"], ruleset(this.#key, this.#subnet, open));
  }

  /**
   * Docker refuses all forwarding but its own, and keeps a chain for the rules of others. Docker's containers stay unreachable for
   * instances.
   */
  async #passDocker(action: "-I" | "-D"): Promise<void> {
    const { iptables } = this.#tools;
    const chain = iptables && (await runTool(iptables, ["-w", "-S", "DOCKER-USER"]).catch(() => undefined));
    if (!chain) return;
    for (const rule of dockerRules(bridgeName(this.#key))) {
      const isThere = chain.includes(`-A DOCKER-USER ${rule}`);
      if (isThere !== (action === "-D")) continue;
      const changed = runTool(iptables, ["-w", action, "DOCKER-USER", ...rule.split(" ")]);
      // The watchdog of a killed server also removes these rules, and may be faster.
      await (action === "-D" ? changed.catch(() => undefined) : changed);
    }
  }

  async choose(_ports: readonly number[], others: readonly Networked[]): Promise<number> {
    if (this.#cannotRenew !== undefined)
      throw new StartRefused(`the rules around instances could not be set: ${this.#cannotRenew}`, {
        reason: "network-unavailable",
      });
    const taken = new Set(others.map(({ index }) => index));
    const links = await linkNames();
    for (let index = FIRST_INSTANCE; index <= LAST_INSTANCE; index++)
      if (!taken.has(index) && !links.has(this.#link(index))) return index;
    throw new StartRefused("every address of this machine's network is in use", { reason: "network-unavailable" });
  }

  enter(index: number | undefined, command: readonly string[], group?: GroupMember): string[] {
    const { unshare } = this.#tools;
    const address = `${addressOf(this.#subnet, index!)}/${this.#subnet.bits}`;
    const hardware = hardwareAddress(this.#key, index!);
    const place = [bridgeName(this.#key), this.#link(index!), hardware, address, this.linkHost];
    const second = group ? this.groups.linkOf(group) : ["", "", "", ""];
    return [unshare, "--net", "--", "/bin/sh", NETWORK_SCRIPT, ...place, ...second, ...command];
  }

  /** Its links disappear a moment after the last process of its namespace, or much later on a busy machine. */
  async leave(index: number | undefined): Promise<void> {
    await this.published.close(index!);
    await this.#dialers.close(String(index));
    const untilMs = this.#clock.monotonic() + LINK_PATIENCE_MS;
    for (const link of [this.#link(index!), this.groups.memberLink(index!)])
      while (await isLink(link)) {
        if (this.#clock.monotonic() < untilMs) await sleep(this.#clock, LOOK_AGAIN_MS);
        else await runTool(this.#tools.ip, ["link", "delete", link]).catch(() => {});
      }
  }

  /** Connects to the instance's address. A program that only listens on its loopback address is reached from inside. */
  async dial(instance: Networked, port: number): Promise<Duplex> {
    try {
      return await connectTo({ host: addressOf(this.#subnet, instance.index!), port });
    } catch (refused) {
      const [pid] = await instance.processes();
      const heard = pid === undefined ? [] : await listenersSeenBy(pid);
      const listener = heard.find((one) => one.port === port);
      if (!listener) throw refused;
      return this.dialInside(instance, listener);
    }
  }

  dialInside(instance: Networked, place: { host: string; port: number }): Promise<Duplex> {
    return this.#dialers.dial(String(instance.index), () => instance.processes(), place);
  }

  #link(index: number): string {
    return `${bridgeName(this.#key)}v${index}`;
  }

  async letGo(): Promise<void> {
    await this.#dialers.closeAll();
  }

  /** Removes the bridge and the rules, so that nothing of the network is left. */
  async close(): Promise<void> {
    await this.#passDocker("-D");
    await this.groups.sweep(new Set());
    await runTool(this.#tools.ip, ["link", "delete", bridgeName(this.#key)]).catch(() => {});
    await this.published.remove();
    await runTool(this.#tools.nft, ["delete", "table", "inet", tableName(this.#key)]).catch(() => {});
    await rm(this.#file, { force: true });
  }
}

async function findTools(): Promise<Tools> {
  if (process.getuid!() !== 0) throw new Error("only root can give instances a network of their own");
  const found = Object.fromEntries(
    await Promise.all(["ip", "nft", "nsenter", "unshare", "iptables"].map(async (name) => [name, await find(name)])),
  ) as Record<string, string | undefined>;
  const missing = ["ip", "nft", "nsenter", "unshare"].filter((name) => found[name] === undefined);
  if (missing.length > 0)
    throw new Error(`${missing.join(", ")} not found: install them (apt-get install iproute2 nftables util-linux)`);
  return found as unknown as Tools;
}

async function keptSubnet(file: string): Promise<Subnet | undefined> {
  return parseSubnet(await readFile(file, "utf8").catch(ifNotThere("")));
}

const routed = async ({ ip }: Tools) => routedSubnets(await runTool(ip, ["-4", "route", "show", "table", "all"]));

/** The networks that this machine has routes to, and those that the settings let instances reach. */
async function usedSubnets(tools: Tools, { reachable, doors, nameServers }: Egress): Promise<Subnet[]> {
  const named = [...reachable, ...doors.map(({ address }) => address), ...nameServers];
  return [...(await routed(tools)), ...named.flatMap((range) => parseSubnet(range) ?? [])];
}

async function freshSubnet(tools: Tools, seed: number): Promise<Subnet> {
  const subnet = chooseSubnet(await routed(tools), seed);
  if (!subnet) throw new Error("no private range of addresses is free");
  return subnet;
}
