/** Groups of instances that reach each other and that nobody else reaches: who belongs to one, and under which name. */
import { createHash } from "node:crypto";
import { StartRefused } from "./refusal.ts";
import type { Span, Spanning } from "./spans.ts";

export interface Membership {
  /** Unique within the account. The same id in another account is another group. */
  id: string;
  /** The name by which the others find it, such as `node-0`. It is unique in the group. */
  name: string;
  /** Full names by which the others also find it, such as `node-0.example.internal`. */
  fullNames?: readonly string[];
  /**
   * True when its place comes from a reserved network; without a reservation its start is refused. Other groups appear with their first
   * member and vanish with their last.
   */
  isReserved?: boolean;
}

/** Identifies a network. */
export interface NetworkName {
  account: string;
  id: string;
}

export interface NetworkAsk extends NetworkName {
  /** The image of all members. If a machine has several drivers, it says which one has them. */
  image: string;
  /** The names of all instances that may ever be members. */
  names: readonly string[];
  /** The range that the network had before, if known. It gets the same range again, unless something else uses it by now. */
  range?: string | undefined;
  /** Ranges that it must not get, since another of its machines uses them. */
  avoid?: readonly string[];
  /** Other machines have members too. What is said here replaces what was said before. */
  span?: Span;
}

export interface Network {
  /** The range of all addresses, such as `10.1.2.0/24`. Absent if there is no single range. */
  range?: string;
  /**
   * Where the others reach each member, in the order of the names asked for: an address or, if addresses are known only when a member runs,
   * a name. They stay valid as long as the network is reserved, also for members that have not begun.
   */
  hosts: readonly string[];
}

/** The ability to give instances their own networks: members reach each other by address and name, and nobody else reaches them. */
export interface Networks {
  /** Returns the name of the network interface that a member with this image sees. */
  interfaceOf(image: string): string;
  /** Absent if networks do not reach from one machine to another. */
  readonly spanning?: Spanning | undefined;
  /**
   * Durable once it resolves: asking again, in this process or the next, returns the same until the network is released, with or without
   * members. Throws StartRefused, also for names that it was not reserved for. A network with a span
   * reaches the other machines as soon as it has a member here.
   */
  reserve(ask: NetworkAsk): Promise<Network>;
  /** Returns all reserved networks. */
  list(): Promise<NetworkName[]>;
  /** Gives the network back. One with a member, ended or not, stays. An unknown one is no error. */
  release(network: NetworkName): Promise<void>;
}

/** The most names in a reserved network. */
const MOST_NAMES = 250;

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/i;
/** One label of a host name. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const MOST_FULL_NAMES = 8;
const LONGEST_NAME = 253;

export const SHARED_NETWORK =
  "instances share the machine's network here: a group cannot be kept apart from anybody else";

/** Refuses a membership that is not valid. */
export function checkMembership({ id, name, fullNames = [] }: Membership): void {
  checkId(id);
  checkName(name);
  if (fullNames.length > MOST_FULL_NAMES)
    throw new StartRefused(`a member has ${MOST_FULL_NAMES} full names in a group at most`);
  const odd = fullNames.find((full) => !isFullName(full, name));
  if (odd !== undefined)
    throw new StartRefused(`'${odd}' is no full name of ${name}: it begins with it, such as ${name}.example.internal`);
}

/** Refuses a reservation that is not valid. */
export function checkAsk({ id, names }: NetworkAsk): void {
  checkId(id);
  for (const name of names) checkName(name);
  if (names.length === 0 || names.length > MOST_NAMES)
    throw new StartRefused(`a network is reserved for 1 to ${MOST_NAMES} members, not for ${names.length}`);
  if (new Set(names).size < names.length) throw new StartRefused("two members of a network have the same name");
}

function checkId(id: string): void {
  if (!ID.test(id)) throw new StartRefused(`'${id}' is no id of a group`);
}

function checkName(name: string): void {
  if (!NAME.test(name) || name === "localhost")
    throw new StartRefused(`'${name}' is no name in a group: use small letters, digits and dashes, such as node-0`);
}

/** Refuses a member whose name another member of the group has. */
export function checkFellows(member: Membership, fellows: readonly Pick<Membership, "name">[]): void {
  if (fellows.some(({ name }) => name === member.name)) throw nameTaken(member);
}

/** A network as a driver keeps it. */
export interface ReservedNetwork extends NetworkName, Network {
  names: readonly string[];
}

/** Returns what a driver tells about a reserved network to a caller that asks for these names. */
export function toldOf({ id, range, names, hosts }: ReservedNetwork, asked: readonly string[]): Network {
  const told = asked.map((name) => hostIn({ id, names, hosts }, name));
  return { ...(range !== undefined && { range }), hosts: told };
}

/** Returns where a member of the network is reached. */
export function hostIn({ id, names, hosts }: Pick<ReservedNetwork, "id" | "names" | "hosts">, name: string): string {
  const host = hosts[names.indexOf(name)];
  if (host === undefined) throw unavailable(`network ${id} was not reserved for a member ${name}`);
  return host;
}

/** Refuses a member whose network should be reserved but is not. */
export function checkReserved({ id, isReserved }: Membership, network: ReservedNetwork | undefined): void {
  if (isReserved && !network) throw unavailable(`network ${id} is not reserved`);
}

export const hasMembers = (id: string) => unavailable(`group ${id} has members, for whom nothing was reserved`);

export const noRangeFree = () => unavailable("no private range of addresses is free for a network");

const unavailable = (text: string) => new StartRefused(text, { reason: "network-unavailable" });

/** A full name begins with the member's own name, so it can belong neither to another member nor to anyone outside. */
function isFullName(full: string, name: string): boolean {
  const labels = full.split(".");
  return (
    full.length <= LONGEST_NAME && labels.length > 1 && labels[0] === name && labels.every((one) => NAME.test(one))
  );
}

/** Returns all names of a member. */
export const namesOf = ({ name, fullNames = [] }: Membership): string[] => [name, ...fullNames];

const nameTaken = ({ id, name }: Membership) => new StartRefused(`group ${id} has a member ${name} already`);

/**
 * The key by which drivers tell groups apart, as hexadecimal digits. It includes the account, so no id can lead to another account's group.
 */
export const groupKey = (account: string, { id }: Pick<Membership, "id">): string =>
  createHash("sha256").update(`${account}\0${id}`).digest("hex");
