/** What a key may do: the names of the rights, and the rule that compares what a key holds with what an operation needs. */

export const scopedResources = [
  "account",
  "api-keys",
  "billing",
  "catalog",
  "clusters",
  "network-volumes",
  "pods",
  "registries",
  "secrets",
  "serverless",
  "ssh-keys",
  "templates",
] as const;

export type ScopedResource = (typeof scopedResources)[number];

/** Rights that are neither reads nor writes. No other scope includes them. */
export const acts = ["serverless:invoke", "pods:exec", "serverless:exec", "installation:metrics"] as const;

/** What an operation needs. */
export type Scope = `${ScopedResource}:read` | `${ScopedResource}:write` | (typeof acts)[number];

/** What a key may hold. */
export type Grant = Scope | "all" | "read-only";

export const grants: readonly Grant[] = [
  "all",
  "read-only",
  ...scopedResources.flatMap((resource) => [`${resource}:read`, `${resource}:write`] as const),
  ...acts,
];

/** Writing a resource includes reading it. Invoking, and running programs inside instances, are separate rights. */
export function allows(held: readonly Grant[], needed: Scope): boolean {
  for (const grant of held) if (grant === needed || grant === "all" || includes(grant, needed)) return true;
  return false;
}

function includes(grant: Grant, needed: Scope): boolean {
  if (!needed.endsWith(":read")) return false;
  return grant === "read-only" || grant === needed.replace(":read", ":write");
}

/** Whether a holder of `held` may give `grant` to another key. Nobody can hand out more than they have. */
export function mayGrant(held: readonly Grant[], grant: Grant): boolean {
  if (held.includes("all")) return true;
  if (grant === "all") return false;
  if (grant === "read-only") return scopedResources.every((resource) => allows(held, `${resource}:read`));
  return allows(held, grant);
}
