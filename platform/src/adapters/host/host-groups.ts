/** The groups of this machine's instances: who is in which, what is reserved for whom, and the machine made true to it. */
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

/** As `network.sh` names it. */
export const GROUP_INTERFACE = "ens1";

export interface HostGroupsParts {
  /** Where instances are kept. */
  folder: string;
  bridges: GroupBridges | undefined;
  /** Of all groups, those that have ended and those that are about to begin too. */
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

  /** Not while another place is chosen. */
  async choose({ account, group }: InstanceSpec): Promise<GroupPlace | undefined> {
    if (!group) return undefined;
    const bridges = this.#ofMachine();
    checkMembership(group);
    checkReserved(group, this.#kept.of(groupKey(account, group)));
    return bridges.choose(account, group, this.#there());
  }

  /** Not while another place is chosen. */
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

  /** Not while a place is chosen. */
  async release({ account, id }: NetworkName): Promise<void> {
    const key = groupKey(account, { id });
    if (![...this.#members()].some((member) => member.key === key)) await this.#kept.drop(key);
  }

  /** After a member came or went. */
  async settle(place: GroupPlace | undefined): Promise<void> {
    if (place) await this.#bridges?.settle(place.number, () => this.#membersOf(place.number));
  }

  /** After a server before this one ended anywhere. */
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

  /** Each once: one that has just begun is still known as about to. */
  #membersOf(number: number): GroupMember[] {
    const own = [...this.#members()].filter((member) => member.number === number);
    return [...new Map(own.map((member) => [member.index, member])).values()];
  }
}
