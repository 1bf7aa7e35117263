/** The groups of this machine's instances: their members, their reserved networks, and the bridges that carry them. */
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import {
  checkAsk,
  checkMembership,
  checkReserved,
  groupKey,
  type Network,
  type NetworkAsk,
  type NetworkName,
  SHARED_NETWORK,
  toldOf,
} from "../../ports/compute/groups.ts";
import type { GroupBridges, GroupMember, GroupPlace } from "./group-bridges.ts";
import { KeptNetworks } from "./kept-networks.ts";

/** The interface name that `network.sh` gives to a group's network. */
export const GROUP_INTERFACE = "ens1";

export interface HostGroupsParts {
  /** The folder that holds the instances. */
  folder: string;
  bridges: GroupBridges | undefined;
  /** The members of all groups, including ended ones and ones that are about to start. */
  members: () => Iterable<GroupMember>;
}

export class HostGroups {
  readonly #bridges: GroupBridges | undefined;
  readonly #members: () => Iterable<GroupMember>;
  readonly #kept: KeptNetworks;

  constructor({ folder, bridges, members }: HostGroupsParts) {
    this.#bridges = bridges;
    this.#members = members;
    this.#kept = new KeptNetworks(folder);
  }

  /** The caller must not run this while another place is being chosen. */
  async choose({ account, group }: InstanceSpec): Promise<GroupPlace | undefined> {
    if (!group) return undefined;
    const bridges = this.#ofMachine();
    checkMembership(group);
    checkReserved(group, this.#kept.of(groupKey(account, group)));
    return bridges.choose(account, group, this.#there());
  }

  /** The caller must not run this while another place is being chosen. */
  async reserve(ask: NetworkAsk): Promise<Network> {
    checkAsk(ask);
    const known = this.#kept.of(groupKey(ask.account, ask));
    if (known) return toldOf(known, ask.names);
    const made = await this.#ofMachine().reserve(ask, this.#there());
    await this.#kept.keep(made);
    return toldOf(made, ask.names);
  }

  reserved(): NetworkName[] {
    return this.#kept.all.map(({ account, id }) => ({ account, id }));
  }

  /** The caller must not run this while a place is being chosen. */
  async release({ account, id }: NetworkName): Promise<void> {
    const key = groupKey(account, { id });
    if (![...this.#members()].some((member) => member.key === key)) await this.#kept.drop(key);
  }

  /** Call this after a member came or went. */
  async settle(place: GroupPlace | undefined): Promise<void> {
    if (place) await this.#bridges?.settle(place.number, () => this.#membersOf(place.number));
  }

  /** Restores the groups after an earlier server ended at any point. */
  async recover(): Promise<void> {
    await this.#kept.find();
    const numbers = new Set([...this.#members()].map(({ number }) => number));
    for (const number of numbers) await this.#bridges?.settle(number, () => this.#membersOf(number));
    await this.#bridges?.sweep(numbers);
  }

  /** The file that a member sees as `/etc/hosts`. */
  namesFile(place: GroupPlace | undefined): string | undefined {
    return place && this.#bridges?.namesFile(place);
  }

  #there() {
    return { members: [...this.#members()], networks: this.#kept.all };
  }

  #ofMachine(): GroupBridges {
    if (!this.#bridges) throw new StartRefused(SHARED_NETWORK, { reason: "network-unavailable" });
    return this.#bridges;
  }

  /** Lists each member once, although a member that has just started is still among the starting ones too. */
  #membersOf(number: number): GroupMember[] {
    const own = [...this.#members()].filter((member) => member.number === number);
    return [...new Map(own.map((member) => [member.index, member])).values()];
  }
}
