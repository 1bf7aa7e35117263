/** Who may give or take away a role: only a caller who holds all its scopes. */
import type { Caller } from "../../kernel/caller.ts";
import { problem } from "../../kernel/problem.ts";
import { mayGrant } from "../../kernel/scope.ts";
import type { Collection } from "../../ports/store/collection.ts";
import type { KeptApiKey } from "../account/model.ts";
import { grantsOf, type Role } from "./model.ts";

/** Whether a caller with these grants may give a role to a person, or take it away. */
export const mayGive = (held: Caller["grants"], role: Role): boolean =>
  grantsOf[role].every((grant) => mayGrant(held, grant));

export function refuseBeyond(caller: Caller, role: Role): void {
  if (!mayGive(caller.grants, role))
    throw problem("not-allowed", `The role '${role}' may do more than you: you can neither give it nor take it away.`, {
      reason: "role-beyond",
    });
}

/** Refuses keys that expire or have a spend limit, because the people that they invite would have neither bound. */
export async function refuseBoundedKey(keys: Collection<KeptApiKey>, caller: Caller): Promise<void> {
  if (caller.person) return;
  if (caller.expiresAt === undefined && !(await keys.get(caller.key))?.doc.spendLimit) return;
  throw problem("not-allowed", "This API key expires or has a spend limit, and cannot manage people.");
}
