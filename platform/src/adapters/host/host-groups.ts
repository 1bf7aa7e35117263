/** The groups of this machine's instances: who is in which, and the machine made true to it. */
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import { SHARED_NETWORK } from "../../ports/compute/groups.ts";
import type { GroupBridges, GroupMember, GroupPlace } from "./group-bridges.ts";

/** As `network.sh` names it. */
export const GROUP_INTERFACE = "ens1";

export class HostGroups {
  readonly #bridges: GroupBridges | undefined;
  readonly #members: () => Iterable<GroupMember>;

  /** `members`: of all groups, those that have ended and those that are about to begin too. */
  constructor(bridges: GroupBridges | undefined, members: () => Iterable<GroupMember>) {
    this.#bridges = bridges;
    this.#members = members;
  }

  async choose({ account, group }: InstanceSpec): Promise<GroupPlace | undefined> {
    if (!group) return undefined;
    if (!this.#bridges) throw new StartRefused(SHARED_NETWORK, { reason: "network-unavailable" });
    return this.#bridges.choose(account, group, [...this.#members()]);
  }

  /** After a member came or went. */
  async settle(place: GroupPlace | undefined): Promise<void> {
    if (place) await this.#bridges?.settle(place.number, () => this.#membersOf(place.number));
  }

  /** After a server before this one ended anywhere. */
  async recover(): Promise<void> {
    const numbers = new Set([...this.#members()].map(({ number }) => number));
    for (const number of numbers) await this.#bridges?.settle(number, () => this.#membersOf(number));
    await this.#bridges?.sweep(numbers);
  }

  /** The file that a member sees as `/etc/hosts`. */
  namesFile(place: GroupPlace | undefined): string | undefined {
    return place && this.#bridges?.namesFile(place);
  }

  /** Each once: one that has just begun is still known as about to. */
  #membersOf(number: number): GroupMember[] {
    const own = [...this.#members()].filter((member) => member.number === number);
    return [...new Map(own.map((member) => [member.index, member])).values()];
  }
}
