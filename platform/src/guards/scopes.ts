/** Authorisation: whether a caller may do what it asks for. */
import type { Caller } from "../kernel/caller.ts";
import { problem } from "../kernel/problem.ts";
import { allows, type Scope } from "../kernel/scope.ts";

export function requireScope(caller: Caller, needed: Scope): void {
  if (!allows(caller.grants, needed)) throw problem("forbidden", `This API key lacks the scope '${needed}'.`);
}
