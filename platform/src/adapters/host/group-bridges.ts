/** Groups on this machine. Each has a bridge on which the machine has no address, and a file of names that its members see. */
import { constants, mkdir, open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { addressOf, parseSubnet, type Subnet, subnetText } from "../../kernel/subnet.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import {
  checkFellows,
  groupKey,
  hasMembers,
  hostIn,
  type Membership,
  type NetworkAsk,
  namesOf,
  noRangeFree,
} from "../../ports/compute/groups.ts";
import { addressesIn, isFreeOf, rangesFor } from "../../ports/compute/network-ranges.ts";
import { runTool } from "../machine/forker.ts";
import { isLink, linkNames } from "../machine/links.ts";
import type { KeptNetwork } from "./kept-networks.ts";
import { chooseSubnet } from "./subnet.ts";

/** The part of a member's record that its instance keeps. */
export interface GroupPlace extends Membership {
  /** Identifies the group by its account and its id. */
  key: string;
  /** The number of the bridge. */
  number: number;
  /**
   * The address range of the group. A member has the same position in it as in the range of all instances, unless an address was reserved.
   */
  subnet: string;
  /** The address that was reserved for the member. */
  at?: { range: string; address: string };
  /** The longest packet of the network, in bytes, if other machines have members too. */
  mtu?: number;
}

export interface GroupMember extends GroupPlace {
  index: number;
}

/**
 * Where the files of names are, which members see as `/etc/hosts`. The kernel shows members this path, so it must not be in the data
 * folder.
 */
const NAMES = "/run/millrace-groups";
const LOOPBACK = "127.0.0.1 localhost\n::1 localhost\n";
/** Interface names have at most 15 characters. */
const MOST_GROUPS = 10_000;

/** The existing members and reserved networks. */
export interface GroupsThere {
  members: readonly GroupPlace[];
  networks: readonly KeptNetwork[];
}

/** The names of a member, and where it is. */
export interface Named {
  names: readonly string[];
  address: string;
}

export interface GroupBridgesOptions {
  /** The name of the bridge of all instances. The names of groups' bridges begin with it. */
  bridge: string;
  ip: string;
  /** Ranges that members already reach in another way. */
  used: () => Promise<Subnet[]>;
}

export class GroupBridges {
  readonly #options: GroupBridgesOptions;
  readonly #turns = new OneAtATime();

  constructor(options: GroupBridgesOptions) {
    this.#options = options;
  }

  /** Chooses the place of a new member beside the existing ones. */
  async choose(account: string, group: Membership, there: GroupsThere): Promise<GroupPlace> {
    const key = groupKey(account, group);
    const fellows = there.members.filter((other) => other.key === key);
    checkFellows(group, fellows);
    const { id, name, fullNames } = group;
    const member = { id, name, ...(fullNames && { fullNames }), key };
    const network = there.networks.find((one) => one.key === key);
    if (network) return { ...member, ...placeIn(network, name) };
    const [known] = fellows;
    if (known) return { ...member, number: known.number, subnet: known.subnet };
    return { ...member, number: freeNumber(there), subnet: subnetText(anyOf(await this.#used(there), key)) };
  }

  /** Reserves a network with addresses for all of its members. */
  async reserve(ask: NetworkAsk, there: GroupsThere): Promise<KeptNetwork> {
    const { account, id, names } = ask;
    const key = groupKey(account, { id });
    const made = (number: number, range: string): KeptNetwork => ({
      ...{ account, id, key, number, range, names, hosts: addressesIn(range, names.length) },
    });
    const [fellow] = there.members.filter((other) => other.key === key);
    // In an earlier release the server chose the members' addresses, in the same way as here.
    if (fellow?.at) return made(fellow.number, fellow.at.range);
    if (fellow) throw hasMembers(id);
    const used = await this.#used(there);
    const range = rangesFor(key, ask).find((one) => isFreeOf(one, used));
    if (range === undefined) throw noRangeFree();
    return made(freeNumber(there), range);
  }

  async #used({ members, networks }: GroupsThere): Promise<Subnet[]> {
    const own = [...members.map(({ subnet }) => subnet), ...networks.map(({ range }) => range)];
    return [...(await this.#options.used()), ...own.map((subnet) => parseSubnet(subnet)!)];
  }

  /** The arguments of `network.sh` for a member: bridge, link, address and longest packet. */
  linkOf(member: GroupMember): string[] {
    const { bits } = parseSubnet(member.subnet)!;
    return [
      this.bridge(member.number),
      this.memberLink(member.index),
      `${memberAddress(member)}/${bits}`,
      String(member.mtu ?? ""),
    ];
  }

  /** The name of a member's link to its group, on the machine's side. */
  memberLink(index: number): string {
    return `${this.#options.bridge}x${index}`;
  }

  namesFile({ number }: GroupPlace): string {
    return join(NAMES, this.bridge(number));
  }

  /**
   * Adjusts the machine to the current members of a group: creates its bridge and names, or removes them when no member is left. Safe to
   * repeat.
   */
  settle(number: number, membersNow: () => readonly GroupMember[], elsewhere: readonly Named[] = []): Promise<void> {
    return this.#turns.run(async () => {
      const members = membersNow();
      if (members.length === 0) return this.#clear(this.bridge(number));
      await this.#raise(this.bridge(number));
      const here = members.map((member) => ({ names: namesOf(member), address: memberAddress(member) }));
      await keepNames(this.namesFile(members[0]!), [...here, ...elsewhere]);
    });
  }

  /** Removes the remains of groups without members. A server may have been killed before it removed them. */
  async sweep(numbers: ReadonlySet<number>): Promise<void> {
    const prefix = `${this.#options.bridge}g`;
    const names = [...(await linkNames()), ...(await readdir(NAMES).catch(() => []))];
    const left = names.filter((name) => name.startsWith(prefix) && !numbers.has(Number(name.slice(prefix.length))));
    for (const name of new Set(left)) await this.#turns.run(() => this.#clear(name));
  }

  /** The name of a group's bridge. */
  bridge(number: number): string {
    return `${this.#options.bridge}g${number}`;
  }

  /** IPv6 is disabled, since the kernel would give the machine an IPv6 address on the bridge by itself. */
  async #raise(bridge: string): Promise<void> {
    if (!(await isLink(bridge))) await runTool(this.#options.ip, ["link", "add", "name", bridge, "type", "bridge"]);
    await writeFile(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, "1").catch(() => {});
    await runTool(this.#options.ip, ["link", "set", "dev", bridge, "up"]);
  }

  async #clear(bridge: string): Promise<void> {
    await runTool(this.#options.ip, ["link", "delete", bridge]).catch(() => {});
    await rm(join(NAMES, bridge), { force: true });
  }
}

export const memberAddress = ({ subnet, index, at }: Pick<GroupMember, "subnet" | "index" | "at">): string =>
  at?.address ?? addressOf(parseSubnet(subnet)!, index);

const placeIn = (network: KeptNetwork, name: string) => ({
  number: network.number,
  subnet: network.range,
  at: { range: network.range, address: hostIn(network, name) },
  ...(network.span && { mtu: network.span.mtu }),
});

function freeNumber({ members, networks }: GroupsThere): number {
  const taken = new Set([...members, ...networks].map(({ number }) => number));
  for (let number = 0; number < MOST_GROUPS; number++) if (!taken.has(number)) return number;
  throw new StartRefused(`there are ${MOST_GROUPS} groups on this machine already`, { reason: "network-unavailable" });
}

function anyOf(used: readonly Subnet[], key: string): Subnet {
  const subnet = chooseSubnet(used, Number.parseInt(key.slice(0, 8), 16));
  if (!subnet) throw noRangeFree();
  return subnet;
}

/** Always writes to the same file, since members have it mounted. A shorter text is padded with empty lines until the file is cut. */
async function keepNames(file: string, members: readonly Named[]): Promise<void> {
  await mkdir(NAMES, { recursive: true, mode: 0o755 });
  const lines = members.map(({ names, address }) => `${address} ${names.join(" ")}\n`);
  const text = Buffer.from(`${LOOPBACK}${lines.join("")}`);
  await using handle = await open(file, constants.O_RDWR | constants.O_CREAT);
  // Every member must be able to read this file, whatever the server's umask is.
  await handle.chmod(0o644);
  const { size } = await handle.stat();
  await handle.write(Buffer.concat([text, Buffer.alloc(Math.max(0, size - text.length), "\n")]), 0, undefined, 0);
  await handle.truncate(text.length);
}
