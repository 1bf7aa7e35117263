/** Groups of instances that reach each other, and that nobody else reaches: who belongs to one, and under which name. */
import { createHash } from "node:crypto";
import { StartRefused } from "./refusal.ts";

export interface Membership {
  /** Of the account's: another account's group of the same id is another group. */
  id: string;
  /** Under which the others find it, such as `node-0`; nobody else's in the group. */
  name: string;
  /** Full names, such as `node-0.example.internal`, under which they find it as well. */
  fullNames?: readonly string[];
  /** It is where the network that was reserved says, and refused where none was. Other groups come with their first member and go with their last. */
  isReserved?: boolean;
}

/** What a network is known by. */
export interface NetworkName {
  account: string;
  id: string;
}

export interface NetworkAsk extends NetworkName {
  /** Of all members: of several drivers on a machine, it says which one has them. */
  image: string;
  /** Of all that may ever be members. */
  names: readonly string[];
  /** The range that it had, as far as that is known: it has the same again, unless somebody else uses it by now. */
  range?: string | undefined;
}

export interface Network {
  /** Of which all addresses are, such as `10.1.2.0/24`; absent where they are of none or several. */
  range?: string;
  /**
   * Where the others reach each member, in the order of the names that were asked for: an address or, where addresses are learnt only when
   * a member runs, a name. They hold for as long as the network is reserved, also for members that have not begun.
   */
  hosts: readonly string[];
}

/** The ability to give instances networks of their own, in which members reach each other by address and name, and which nobody else reaches. */
export interface Networks {
  /** What a member with this image sees its network as. */
  interfaceOf(image: string): string;
  /**
   * Durable once it resolves: whoever asks again, in this process or the next, is told the same, whether or not a member is there, until it is
   * released. Throws StartRefused, also for names that are not among those that it was reserved for.
   */
  reserve(ask: NetworkAsk): Promise<Network>;
  /** All that are reserved. */
  list(): Promise<NetworkName[]>;
  /** Gives it back. One that has a member, ended or not, stays; one that is unknown is no error. */
  release(network: NetworkName): Promise<void>;
}

/** In a network that is reserved. */
const MOST_NAMES = 250;

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/i;
/** A label of a host name. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const MOST_FULL_NAMES = 8;
const LONGEST_NAME = 253;

export const SHARED_NETWORK =
  "instances share the machine's network here: a group cannot be kept apart from anybody else";

/** Refuses what cannot be a member. */
export function checkMembership({ id, name, fullNames = [] }: Membership): void {
  checkId(id);
  checkName(name);
  if (fullNames.length > MOST_FULL_NAMES)
    throw new StartRefused(`a member has ${MOST_FULL_NAMES} full names in a group at most`);
  const odd = fullNames.find((full) => !isFullName(full, name));
  if (odd !== undefined)
    throw new StartRefused(`'${odd}' is no full name of ${name}: it begins with it, such as ${name}.example.internal`);
}

/** Refuses what cannot be reserved. */
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

/** Refuses a member that cannot be beside these of its group. */
export function checkFellows(member: Membership, fellows: readonly Pick<Membership, "name">[]): void {
  if (fellows.some(({ name }) => name === member.name)) throw nameTaken(member);
}

/** A network as a driver keeps it. */
export interface ReservedNetwork extends NetworkName, Network {
  names: readonly string[];
}

/** What is told of one that is reserved, to whoever asks for these names. */
export function toldOf({ id, range, names, hosts }: ReservedNetwork, asked: readonly string[]): Network {
  const told = asked.map((name) => hostIn({ id, names, hosts }, name));
  return { ...(range !== undefined && { range }), hosts: told };
}

/** Where a member of it is reached. */
export function hostIn({ id, names, hosts }: Pick<ReservedNetwork, "id" | "names" | "hosts">, name: string): string {
  const host = hosts[names.indexOf(name)];
  if (host === undefined) throw unavailable(`network ${id} was not reserved for a member ${name}`);
  return host;
}

/** Refuses a member whose network was to be reserved and is not. */
export function checkReserved({ id, isReserved }: Membership, network: ReservedNetwork | undefined): void {
  if (isReserved && !network) throw unavailable(`network ${id} is not reserved`);
}

export const hasMembers = (id: string) => unavailable(`group ${id} has members, for whom nothing was reserved`);

export const noRangeFree = () => unavailable("no private range of addresses is free for a network");

const unavailable = (text: string) => new StartRefused(text, { reason: "network-unavailable" });

/** Beginning with its own name, it is nobody else's either, nor that of anybody outside. */
function isFullName(full: string, name: string): boolean {
  const labels = full.split(".");
  return (
    full.length <= LONGEST_NAME && labels.length > 1 && labels[0] === name && labels.every((one) => NAME.test(one))
  );
}

/** All names of a member. */
export const namesOf = ({ name, fullNames = [] }: Membership): string[] => [name, ...fullNames];

const nameTaken = ({ id, name }: Membership) => new StartRefused(`group ${id} has a member ${name} already`);

/** By which drivers tell groups apart, in hexadecimal digits: nobody can choose an id so that it is another account's group. */
export const groupKey = (account: string, { id }: Pick<Membership, "id">): string =>
  createHash("sha256").update(`${account}\0${id}`).digest("hex");
