/** How instances are reached, and what they reach: by a network of their own, or by the machine's. */
import type { Duplex } from "node:stream";
import type { GroupBridges, GroupMember } from "./group-bridges.ts";
import type { PublishedPorts } from "./published-ports.ts";

/** What a network knows an instance by. */
export interface Networked {
  /** Its place in the network, where it has one. */
  index: number | undefined;
  ports: readonly number[];
  processes(): Promise<number[]>;
}

export interface InstanceNetwork {
  /** Each instance has its own. */
  readonly own: boolean;
  /** Undefined where nothing can be kept apart. */
  readonly groups: GroupBridges | undefined;
  /** The machine's ports that lead to instances; absent where they share its network. */
  readonly published: PublishedPorts | undefined;
  /** The machine as instances see it. */
  readonly linkHost: string;
  /** The arguments that have to be kept for the watchdog: the bridge and the table of rules, or two empty words. */
  readonly traces: readonly [bridge: string, table: string];
  /** The place for a new instance that listens on these ports, or undefined where there are no places. Throws StartRefused. */
  choose(ports: readonly number[], others: readonly Networked[]): Promise<number | undefined>;
  /** The command that runs another one in the network of a place, and of a group if it has one. */
  enter(index: number | undefined, command: readonly string[], group?: GroupMember): string[];
  /** Rejects when nobody of this instance listens there. */
  dial(instance: Networked, port: number): Promise<Duplex>;
  /** The same at an address of the instance's own loopback, which is the machine's where they share it. */
  dialInside(instance: Networked, place: { host: string; port: number }): Promise<Duplex>;
  /** Lets instances reach a port at `linkHost`. */
  openLink(port: number): Promise<void>;
  /** Makes good what somebody else may have undone, such as a firewall that was reloaded. Safe to repeat. */
  renew(): Promise<void>;
  /** After the last process of an instance has ended: leaves nothing of its link. */
  leave(index: number | undefined): Promise<void>;
  /** When the server goes and instances stay. */
  letGo(): Promise<void>;
  /** When no instance is left: leaves nothing of the network. */
  close(): Promise<void>;
}
