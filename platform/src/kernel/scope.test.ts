/** Scopes: every grant is compared with every scope, by a second copy of the rule in plain words. */
import { describe, expect, test } from "vitest";
import { allows, type Grant, grants, mayGrant, type Scope, scopedResources } from "./scope.ts";

const scopes = grants.filter((grant): grant is Scope => grant !== "all" && grant !== "read-only");

/** What one grant gives: `all` gives everything, `read-only` every read, a write also its read, and anything else only itself. */
function given(grant: Grant): Scope[] {
  if (grant === "all") return scopes;
  if (grant === "read-only") return scopedResources.map((resource): Scope => `${resource}:read`);
  if (!grant.endsWith(":write")) return [grant];
  return [grant, grant.replace(":write", ":read") as Scope];
}

const givenByAll = (held: readonly Grant[]) => new Set(held.flatMap(given));

const pairs = grants.flatMap((first) => grants.map((second) => [first, second] as const));

describe("a key", () => {
  test.each(grants.map((grant) => [grant] as const))("with the grant %s may do exactly what it names", (grant) => {
    expect(scopes.filter((scope) => allows([grant], scope))).toEqual(scopes.filter((s) => given(grant).includes(s)));
  });

  test("with two grants may do what either gives, and no more", () => {
    for (const held of pairs) {
      const expected = givenByAll(held);
      const allowed = scopes.filter((scope) => allows(held, scope));
      expect(allowed, `held: ${held}`).toEqual(scopes.filter((scope) => expected.has(scope)));
    }
  });

  test("without grants may do nothing", () => {
    expect(scopes.filter((scope) => allows([], scope))).toEqual([]);
  });

  const acts = ["serverless:invoke", "pods:exec", "serverless:exec", "installation:metrics"] as const;

  test.each(acts)("that may write everything may still not do what %s allows, nor may a read-only one", (act) => {
    const writes = scopedResources.map((resource): Scope => `${resource}:write`);
    expect(allows(writes, act)).toBe(false);
    expect(allows(["read-only"], act)).toBe(false);
    expect(allows(["all"], act)).toBe(true);
  });
});

describe("a holder of two grants", () => {
  test.each(grants.map((grant) => [grant] as const))("may hand out %s only when it gives nothing new", (grant) => {
    for (const held of pairs) {
      const own = givenByAll(held);
      const nothingNew = given(grant).every((scope) => own.has(scope));
      // `all` also covers what later releases add, so only its holder may pass it on.
      const expected = grant === "all" ? held.includes("all") : nothingNew;
      expect(mayGrant(held, grant), `${held} grants ${grant}`).toBe(expected);
    }
  });
});

test("the sum of all reads may be handed out as read-only, one read less may not", () => {
  const reads = scopedResources.map((resource): Scope => `${resource}:read`);
  expect(mayGrant(reads, "read-only")).toBe(true);
  for (const missing of reads) {
    const held = reads.filter((read) => read !== missing);
    expect(mayGrant(held, "read-only"), `without ${missing}`).toBe(false);
  }
});

test("every scope, taken together, is not all", () => {
  expect(mayGrant(scopes, "all")).toBe(false);
});

test("grants are listed once each, with a read and a write for every resource", () => {
  expect(new Set(grants).size).toBe(grants.length);
  expect(grants).toHaveLength(2 + 2 * scopedResources.length + 4);
});
