/** Groups of instances that reach each other, and that nobody else reaches: who belongs to one, and under which name. */
import { createHash } from "node:crypto";
import { StartRefused } from "./refusal.ts";

export interface Membership {
  /** Of the account's: another account's group of the same id is another group. */
  id: string;
  /** Under which the others find it, such as `node-0`; nobody else's in the group. */
  name: string;
}

const ID = /^[a-z0-9][a-z0-9-]{0,63}$/i;
/** A label of a host name. */
const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export const SHARED_NETWORK =
  "instances share the machine's network here: a group cannot be kept apart from anybody else";

/** Refuses what cannot be a member. */
export function checkMembership({ id, name }: Membership): void {
  if (!ID.test(id)) throw new StartRefused(`'${id}' is no id of a group`);
  if (!NAME.test(name) || name === "localhost")
    throw new StartRefused(`'${name}' is no name in a group: use small letters, digits and dashes, such as node-0`);
}

export const nameTaken = ({ id, name }: Membership) => new StartRefused(`group ${id} has a member ${name} already`);

/** By which drivers tell groups apart, in hexadecimal digits: nobody can choose an id so that it is another account's group. */
export const groupKey = (account: string, { id }: Membership): string =>
  createHash("sha256").update(`${account}\0${id}`).digest("hex");
