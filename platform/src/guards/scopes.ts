/** Authorisation: whether a caller may do what it asks for. */
import type { Caller } from "../kernel/caller.ts";
import { problem } from "../kernel/problem.ts";
import { allows, type Scope } from "../kernel/scope.ts";

/** Any one of the scopes will do; the first is the one that a refusal names. */
export function requireScope(caller: Caller, needed: Scope, ...others: Scope[]): void {
  if ([needed, ...others].some((scope) => allows(caller.grants, scope))) return;
  throw problem("forbidden", `This API key lacks the scope '${needed}'.`);
}
