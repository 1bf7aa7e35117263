/** How instances are reached and what they reach: through a network of their own, or through the machine's. */
import type { Duplex } from "node:stream";
import type { GroupBridges, GroupMember } from "./group-bridges.ts";
import type { PublishedPorts } from "./published-ports.ts";

/** What a network needs to know of an instance. */
export interface Networked {
  /** The instance's place in the network, where it has one. */
  index: number | undefined;
  ports: readonly number[];
  processes(): Promise<number[]>;
}

export interface InstanceNetwork {
  /** Whether each instance has a network of its own. */
  readonly own: boolean;
  /** Undefined where instances cannot be kept apart. */
  readonly groups: GroupBridges | undefined;
  /** The machine's ports that are forwarded to instances; undefined where instances share its network. */
  readonly published: PublishedPorts | undefined;
  /** The machine's address as instances see it. */
  readonly linkHost: string;
  /** The watchdog's arguments for clearing up: the bridge and the table of rules, or two empty texts. */
  readonly traces: readonly [bridge: string, table: string];
  /** Chooses the place of a new instance that listens on these ports; undefined where there are no places. Throws StartRefused. */
  choose(ports: readonly number[], others: readonly Networked[]): Promise<number | undefined>;
  /** The command that runs another command in the network of a place, and of a group if there is one. */
  enter(index: number | undefined, command: readonly string[], group?: GroupMember): string[];
  /** Rejects when no process of this instance listens on the port. */
  dial(instance: Networked, port: number): Promise<Duplex>;
  /** Like `dial`, at an address of the instance's own loopback. On a shared network that is the machine's loopback. */
  dialInside(instance: Networked, place: { host: string; port: number }): Promise<Duplex>;
  /** Lets instances reach a port at `linkHost`. */
  openLink(port: number): Promise<void>;
  /** Restores what somebody else may have undone, for example by reloading a firewall. Safe to repeat. */
  renew(): Promise<void>;
  /** Removes all of an instance's link. Call it after the instance's last process has ended. */
  leave(index: number | undefined): Promise<void>;
  /** Called when the server ends and instances stay. */
  letGo(): Promise<void>;
  /** Removes all of the network. Call it when no instance is left. */
  close(): Promise<void>;
}
