/** Authorization: whether a caller may do what it asks for. */
import type { Caller } from "../kernel/caller.ts";
import { type Operation, scopesOf } from "../kernel/operation.ts";
import { problem } from "../kernel/problem.ts";
import { reservedIn } from "../kernel/rights.ts";
import { allows, type Scope } from "../kernel/scope.ts";

/** Any one of the scopes is enough. A refusal names the first. */
export function requireScope(caller: Caller, needed: Scope, ...others: Scope[]): void {
  if (allows(caller.grants, needed)) return;
  for (const scope of others) if (allows(caller.grants, scope)) return;
  const who = caller.person ? "Your role" : "This API key";
  throw problem("not-allowed", `${who} lacks the scope '${needed}'.`, { reason: "scope-missing" });
}

/** Whether a caller may use an operation at all. */
export function requireOperation(
  caller: Caller,
  operation: Pick<Operation, "scope" | "orAnyOf" | "alsoNeeds" | "narrowed" | "byPod" | "who">,
): void {
  const { narrowed, byPod = false, who, orAnyOf = [] } = operation;
  for (const scope of scopesOf(operation)) requireScope(caller, scope, ...orAnyOf);
  if (caller.pod !== undefined && !byPod)
    throw problem("not-allowed", "This API key belongs to a Pod, which may only get, stop and terminate itself.");
  if (narrowed === "refused" && caller.endpoints)
    throw problem(
      "not-allowed",
      "This API key is narrowed to some endpoints, and cannot read or change what belongs to the whole account.",
      { reason: "key-narrowed" },
    );
  if (who === "person" && !caller.person)
    throw problem("not-allowed", "This is for people who are signed in: an API key has no sessions and no password.", {
      reason: "person-only",
    });
  if (who === "installation" && !caller.ownsInstallation)
    throw problem(
      "not-allowed",
      "Only the installation's owner may do this, with a key of the first account that holds 'all'.",
      { reason: "owner-only" },
    );
}

/** Whether a caller may set every field that it sends. */
export function requireFields(caller: Caller, { in: schema }: Operation, body: unknown): void {
  const reserved = schema && !caller.ownsInstallation && reservedIn(schema, body as object);
  if (!reserved) return;
  throw problem(
    "not-allowed",
    `'${reserved}' can be set only by the installation's owner, with a key of the first account that holds 'all'.`,
    { reason: "owner-only" },
  );
}
