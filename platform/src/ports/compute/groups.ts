/** Groups of instances that reach each other, and that nobody else reaches: who belongs to one, and under which name. */
import { createHash } from "node:crypto";
import { isIPv4 } from "node:net";
import { addressFrom, parseSubnet, type Subnet, sizeOf } from "../../kernel/subnet.ts";
import { StartRefused } from "./refusal.ts";

export interface Membership {
  /** Of the account's: another account's group of the same id is another group. */
  id: string;
  /** Under which the others find it, such as `node-0`; nobody else's in the group. */
  name: string;
  /** Full names, such as `node-0.example.internal`, under which they find it as well. */
  fullNames?: readonly string[];
  /** Where exactly, if that matters: of all members of a group, or of none. The start is refused with RangeTaken when the range is somebody's. */
  at?: GroupAddress;
}

/** A range such as `10.1.2.0/24`, the same for every member, and the member's own address in it. */
export interface GroupAddress {
  range: string;
  address: string;
}

/** The ability to give instances networks of their own, in which members reach each other by address and name, and which nobody else reaches. */
export interface Networks {
  /** What a member with this image sees its network as. */
  interfaceOf(image: string): string;
}

/** A range of addresses that was wished for is used by something else on the machine. */
export class RangeTaken extends StartRefused {
  readonly range: string;

  constructor(range: string, cause?: unknown) {
    super(`the range of addresses ${range} is used on the machine`, { cause, reason: "network-unavailable" });
    this.range = range;
  }
}

/** The first addresses of a range: its own name, and the machine's end where it has one. */
export const FIRST_MEMBER = 2;

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/i;
/** A label of a host name. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const MOST_FULL_NAMES = 8;
const LONGEST_NAME = 253;

export const SHARED_NETWORK =
  "instances share the machine's network here: a group cannot be kept apart from anybody else";

/** Refuses what cannot be a member. */
export function checkMembership({ id, name, fullNames = [], at }: Membership): void {
  if (!ID.test(id)) throw new StartRefused(`'${id}' is no id of a group`);
  if (!NAME.test(name) || name === "localhost")
    throw new StartRefused(`'${name}' is no name in a group: use small letters, digits and dashes, such as node-0`);
  if (fullNames.length > MOST_FULL_NAMES)
    throw new StartRefused(`a member has ${MOST_FULL_NAMES} full names in a group at most`);
  const odd = fullNames.find((full) => !isFullName(full, name));
  if (odd !== undefined)
    throw new StartRefused(`'${odd}' is no full name of ${name}: it begins with it, such as ${name}.example.internal`);
  if (at) checkAddress(at);
}

const BITS = { least: 16, most: 29 };

function checkAddress({ range, address }: GroupAddress): void {
  const subnet = /^[\d.]+\/\d+$/.test(range) && isIPv4(range.split("/")[0]!) ? parseSubnet(range) : undefined;
  if (!subnet || subnet.bits < BITS.least || subnet.bits > BITS.most || subnet.base % sizeOf(subnet) !== 0)
    throw new StartRefused(`'${range}' is no range of a group: use one such as 10.1.2.0/24`);
  if (!isIPv4(address) || !isForMembers(subnet, addressFrom(address) - subnet.base))
    throw new StartRefused(`'${address}' is no address of a member in ${range}`);
}

const isForMembers = (subnet: Subnet, index: number) => index >= FIRST_MEMBER && index < sizeOf(subnet) - 1;

/** Refuses a member that cannot be beside these of its group. */
export function checkFellows(member: Membership, fellows: readonly Membership[]): void {
  if (fellows.some(({ name }) => name === member.name)) throw nameTaken(member);
  for (const { at, name } of fellows) {
    if (at?.range !== member.at?.range)
      throw new StartRefused(`group ${member.id} has ${at ? `the range ${at.range}` : "a range of its own choice"}`);
    if (at && at.address === member.at?.address)
      throw new StartRefused(`${name} of group ${member.id} has the address ${at.address} already`);
  }
}

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
export const groupKey = (account: string, { id }: Membership): string =>
  createHash("sha256").update(`${account}\0${id}`).digest("hex");
