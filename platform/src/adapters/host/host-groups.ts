/** The groups of this machine's instances: their members, their reserved networks, and the bridges that carry them. */
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import {
  checkAsk,
  checkMembership,
  checkReserved,
  groupKey,
  hostIn,
  type Network,
  type NetworkAsk,
  type NetworkName,
  SHARED_NETWORK,
  toldOf,
} from "../../ports/compute/groups.ts";
import type { Span, SpanEnd, Spanning } from "../../ports/compute/spans.ts";
import type { SpanLinks } from "../machine/span-links.ts";
import type { GroupBridges, GroupMember, GroupPlace } from "./group-bridges.ts";
import { type KeptNetwork, KeptNetworks, type KeptSpan } from "./kept-networks.ts";

/** The interface name that `network.sh` gives to a group's network. */
export const GROUP_INTERFACE = "ens1";

export interface HostGroupsParts {
  /** The folder that holds the instances. */
  folder: string;
  bridges: GroupBridges | undefined;
  /** The members of all groups, including ended ones and ones that are about to start. */
  members: () => Iterable<GroupMember>;
  /** Joins groups to those of other machines. Absent if there are no other machines. */
  spans?: SpanLinks | undefined;
}

export class HostGroups {
  readonly #bridges: GroupBridges | undefined;
  readonly #members: () => Iterable<GroupMember>;
  readonly #kept: KeptNetworks;
  readonly #spans: SpanLinks | undefined;
  /** Where the other machines of each network are, by its key. */
  readonly #others = new Map<string, readonly SpanEnd[]>();
  /** The last member may go while the bridge is being joined for the one before it. */
  readonly #turns = new OneAtATime();

  constructor({ folder, bridges, members, spans }: HostGroupsParts) {
    this.#bridges = bridges;
    this.#spans = spans;
    this.#members = members;
    this.#kept = new KeptNetworks(folder);
  }

  get spanning(): Spanning | undefined {
    return this.#spans?.spanning;
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
    const network = known ?? (await this.#ofMachine().reserve(ask, this.#there()));
    const told = toldOf(network, ask.names);
    if (ask.span) await this.#span(network, ask.span);
    else if (!known) await this.#kept.keep(network);
    return told;
  }

  /** Keeps what was told about the other machines, and joins them if there are members here. */
  async #span(network: KeptNetwork, { others, ...span }: Span): Promise<void> {
    if (!this.#spans)
      throw new StartRefused("this machine shares no network with others", { reason: "network-unavailable" });
    const { key, number } = network;
    if (JSON.stringify(network.span) !== JSON.stringify(span) || !this.#kept.of(key))
      await this.#kept.keep({ ...network, span });
    this.#others.set(key, others);
    if (this.#membersOf(number).length > 0) await this.#settle(number);
  }

  reserved(): NetworkName[] {
    return this.#kept.all.map(({ account, id }) => ({ account, id }));
  }

  /** The caller must not run this while a place is being chosen. */
  async release({ account, id }: NetworkName): Promise<void> {
    const key = groupKey(account, { id });
    if ([...this.#members()].some((member) => member.key === key)) return;
    this.#others.delete(key);
    await this.#kept.drop(key);
  }

  /** Call this after a member came or went. */
  async settle(place: GroupPlace | undefined): Promise<void> {
    if (place) await this.#settle(place.number);
  }

  #settle(number: number): Promise<void> {
    return this.#turns.run(async () => {
      const network = this.#kept.all.find((one) => one.number === number);
      const elsewhere = network?.span?.elsewhere.map((name) => ({ names: [name], address: hostIn(network, name) }));
      await this.#bridges?.settle(number, () => this.#membersOf(number), elsewhere);
      if (network?.span) await this.#join(network, network.span);
    });
  }

  /** After a start of the server the links are left as they are until the other machines are told. */
  async #join({ key, number }: KeptNetwork, { elsewhere: _, ...span }: KeptSpan): Promise<void> {
    const others = this.#others.get(key);
    if (this.#membersOf(number).length === 0) await this.#spans?.leave("host", span.number);
    else if (others) await this.#spans?.join("host", { ...span, others, bridge: this.#ofMachine().bridge(number) });
  }

  /** Restores the groups after an earlier server ended at any point. */
  async recover(): Promise<void> {
    await this.#kept.find();
    const numbers = new Set([...this.#members()].map(({ number }) => number));
    for (const number of numbers) await this.#settle(number);
    await this.#bridges?.sweep(numbers);
    const spans = this.#kept.all.filter(({ number }) => numbers.has(number)).flatMap(({ span }) => span?.number ?? []);
    await this.#spans?.sweep("host", new Set(spans));
  }

  /** Removes what joins groups to other machines. Call it when no instance is left. */
  async close(): Promise<void> {
    await this.#spans?.sweep("host", new Set());
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
