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
}

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/i;
/** A label of a host name. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const MOST_FULL_NAMES = 8;
const LONGEST_NAME = 253;

export const SHARED_NETWORK =
  "instances share the machine's network here: a group cannot be kept apart from anybody else";

/** Refuses what cannot be a member. */
export function checkMembership({ id, name, fullNames = [] }: Membership): void {
  if (!ID.test(id)) throw new StartRefused(`'${id}' is no id of a group`);
  if (!NAME.test(name) || name === "localhost")
    throw new StartRefused(`'${name}' is no name in a group: use small letters, digits and dashes, such as node-0`);
  if (fullNames.length > MOST_FULL_NAMES)
    throw new StartRefused(`a member has ${MOST_FULL_NAMES} full names in a group at most`);
  const odd = fullNames.find((full) => !isFullName(full, name));
  if (odd !== undefined)
    throw new StartRefused(`'${odd}' is no full name of ${name}: it begins with it, such as ${name}.example.internal`);
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

export const nameTaken = ({ id, name }: Membership) => new StartRefused(`group ${id} has a member ${name} already`);

/** By which drivers tell groups apart, in hexadecimal digits: nobody can choose an id so that it is another account's group. */
export const groupKey = (account: string, { id }: Membership): string =>
  createHash("sha256").update(`${account}\0${id}`).digest("hex");
