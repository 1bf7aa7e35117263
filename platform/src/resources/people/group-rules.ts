/** What the groups of a person at the identity provider give them here: accounts, and a role in each. */
import type { Role } from "./model.ts";

export interface GroupRule {
  /** The group's name at the provider; `*` stands for everybody there. */
  group: string;
  /** The id or name of the account; absent means the first one, whose owners operate the installation. */
  account?: string | undefined;
  role: Role;
}

export interface Given {
  account: string | undefined;
  role: Role;
}

const EVERYBODY = "*";
/** From the one that may do the most. */
const BY_RIGHTS: readonly Role[] = ["owner", "member", "viewer"];

/** Returns each account once, in the order of the rules, with the highest role that the groups give there. */
export function givenBy(rules: readonly GroupRule[], groups: readonly string[]): Given[] {
  const held = new Set([...groups, EVERYBODY]);
  const given = new Map<string | undefined, Role>();
  for (const { group, account, role } of rules)
    if (held.has(group)) given.set(account, higher(given.get(account), role));
  return [...given].map(([account, role]) => ({ account, role }));
}

export function higher(one: Role | undefined, other: Role): Role {
  return BY_RIGHTS.find((role) => role === one || role === other)!;
}
