/** What a key may do, what it may pass on, and that resources of other accounts do not exist for it. */

import { describe, expect, test } from "vitest";
import { putCluster } from "../../tests/cluster-doc.ts";
import { putPod } from "../../tests/pod-doc.ts";
import { giveVolumesAPlace } from "../../tests/volume-doc.ts";
import { setup, type World } from "../../tests/world.ts";
import { operations } from "../contract.ts";
import { timestamp } from "../kernel/clock.ts";
import { type Operation, pathParameters, scopesOf } from "../kernel/operation.ts";
import { type Grant, grants, mayGrant } from "../kernel/scope.ts";
import type { Store } from "../ports/store/store.ts";
import { restV1Operations } from "../surfaces/rest-v1/operations.ts";

const API_KEYS = "/v2/account/api-keys";
const all = Object.entries(operations as Record<string, Operation>);
const old = Object.entries(restV1Operations as Record<string, Operation>).map(
  ([name, operation]) => [`v1 ${name}`, operation] as const,
);
const both = [...all, ...old].filter(([, { scope }]) => scope !== undefined);

/** A stream does not end by itself, so HEAD is used, which gives the same status. */
const methodOf = (op: Operation) => (op.events ? "HEAD" : op.method);

/** Files of a volume are named in the query. */
const unknownIn = (path: string) =>
  path.replace(/\{\w+\}/g, "aaaaaaaaaaaaaa") + (path.includes("/files") ? "?path=unknown" : "");

/** The status of an allowed request to this operation that names nothing and sends nothing. */
const withoutBody = (op: Operation): number => (op.in && !op.isBodyOptional ? 400 : op.path.includes("{") ? 404 : 200);

describe("every operation", () => {
  test.each(both.filter(([, op]) => !op.orAnyOf))(
    "%s is refused to a key that holds every scope but its own, which the 403 names",
    async (_name, op) => {
      await using world = await setup();
      const resource = op.scope!.split(":")[0]!;
      const scopes = grants.filter((grant) => grant.includes(":") && !grant.startsWith(`${resource}:`));
      const key = await world.newKey({ scopes });
      const { status, json } = await world.call(op.method, unknownIn(op.path), { key });
      expect([status, json.detail ?? json.message]).toEqual([403, `This API key lacks the scope '${op.scope}'.`]);
    },
  );

  test.each(all.filter(([, op]) => op.alsoNeeds))(
    "%s is refused to a key that has one of the two scopes that it needs, and the 403 names the other",
    async (_name, op) => {
      await using world = await setup();
      const [first, second] = scopesOf(op);
      for (const [held, missing] of [
        [first!, second],
        [second!, first],
      ] as const) {
        const key = await world.newKey({ scopes: [held] });
        const { status, json } = await world.call(op.method, op.path, { key });
        expect([status, json.detail]).toEqual([403, `This API key lacks the scope '${missing}'.`]);
      }
    },
  );

  test.each(all.filter(([, op]) => op.orAnyOf))(
    "%s is allowed to a key that holds any one of its scopes, and refused without one",
    async (_name, op) => {
      await using world = await setup();
      const others = grants.filter((grant) => grant.includes(":") && !mayGrant([grant], op.scope!));
      for (const scope of op.orAnyOf!)
        expect((await world.call(methodOf(op), op.path, { key: await world.newKey({ scopes: [scope] }) })).status).toBe(
          200,
        );
      const none = others.filter((grant) => !op.orAnyOf!.some((scope) => mayGrant([grant], scope)));
      expect((await world.call(op.method, op.path, { key: await world.newKey({ scopes: none }) })).status).toBe(403);
    },
  );

  test.each(both)("%s is allowed to a key that holds what it needs, and nothing else", async (_name, op) => {
    await using world = await setup();
    const key = await world.newKey({ scopes: scopesOf(op) });
    const path = unknownIn(op.path);
    const owners = await world.call(methodOf(op), path);
    expect(owners.status).toBe(withoutBody(op));
    // An operation that is reserved for the installation's owner needs `all`.
    expect((await world.call(methodOf(op), path, { key })).status).toBe(op.who ? 403 : owners.status);
  });

  test.each(both)("%s is allowed to a read-only key only if it reads", async (_name, op) => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["read-only"] });
    const { status } = await world.call(methodOf(op), unknownIn(op.path), { key });
    // Contents of volumes are data: to read them takes what it takes to write them.
    const isRead = op.method === "GET" && op.scope?.endsWith(":read");
    expect(status).toBe(isRead && !op.who ? withoutBody(op) : 403);
  });
});

test("a scope to write includes reading the same resource, and nothing else", async () => {
  await using world = await setup();
  const key = await world.newKey({ scopes: ["secrets:write"] });
  expect((await world.call("GET", "/v2/account/secrets", { key })).status).toBe(200);
  expect((await world.call("GET", "/v2/account/ssh-keys", { key })).status).toBe(403);
});

describe("tenancy", () => {
  // The catalog and the listings of the hub belong to nobody, and machines belong to no account.
  const byId = all
    .filter(([, { path, who }]) => pathParameters(path).includes("id") && who === undefined)
    .filter(([, { path }]) => !/^\/v2\/(catalog|hub\/listings)\//.test(path));

  /** What the first account owns, and how another account would try to change it. */
  const things: Record<string, { make: object | ((world: World) => Promise<string>); change?: object }> = {
    "/v2/pods": { make: putPod, change: { name: "stolen" } },
    "/v2/clusters": { make: (world: World) => putCluster(world, "made"), change: { name: "stolen" } },
    "/v2/account/s3-keys": { make: { name: "mine" } },
    "/v2/public-endpoints": {
      async make(world: World) {
        const body = { name: "mine", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
        const endpointId = (await world.call("POST", "/v2/serverless", { body })).json.id;
        return (await world.call("POST", "/v2/public-endpoints", { body: { name: "a-model", endpointId } })).json.id;
      },
      change: { everyone: true },
    },
    "/v2/hub/deployments": {
      make: async (world: World) =>
        (await world.call("POST", "/v2/hub/listings/millrace.echo/deploy", { body: { test: false } })).json.id,
    },
    [API_KEYS]: { make: { scopes: ["all"] } },
    "/v2/account/people": { make: async ({ owner }: World) => owner.user, change: { name: "stolen" } },
    "/v2/account/invitations": { make: { role: "viewer" } },
    "/v2/account/secrets": {
      make: { name: "token", value: "v" },
      change: { value: "stolen", description: "stolen" },
    },
    "/v2/network-volumes": { make: { name: "mine", size: 50, dataCenter: "EU-RO-1" }, change: { name: "stolen" } },
    "/v2/serverless": {
      make: { name: "mine", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
      change: { name: "stolen" },
    },
    "/v2/templates": { make: { name: "mine", image: "busybox" }, change: { name: "stolen" } },
    "/v2/registries/delegations": {
      make: { resource: "arn:aws:ecr:us-east-2:123456789012:repository/team/model" },
    },
    "/v2/registries": { make: { name: "hub", username: "u", password: "p" } },
  };

  test("there are operations to walk", () => expect(byId.length).toBeGreaterThanOrEqual(4));

  test.each(byId)(
    "%s: another account's id is 404 exactly like an unknown one, and nothing happens",
    async (_name, op) => {
      await using world = await setup();
      giveVolumesAPlace(world);
      const stranger = await world.newKey({ of: await world.services.accounts.create("stranger", "s@localhost") });
      const [collection, { make, change }] = Object.entries(things).find(([path]) => op.path.startsWith(path))!;
      const made = async () => (await world.call("POST", collection, { body: make })).json.id as string;
      const id = typeof make === "function" ? await make(world) : await made();
      const before = JSON.stringify(await contents(world.store));
      const own = [
        ["/action", { action: "terminate" }],
        ["/terminal", {}],
        ["/folders", { path: "stolen" }],
        ["/links", { path: "mine" }],
        ["/move", { from: "mine", to: "stolen" }],
      ] as const;
      const body = op.in && (own.find(([end]) => op.path.endsWith(end))?.[1] ?? change);
      const path = `${op.path.replace("{port}", "8888")}${op.path.includes("/files") ? "?path=mine" : ""}`;
      const foreign = await world.call(op.method, path.replace("{id}", id), { key: stranger, body });
      const unknown = await world.call(op.method, path.replace("{id}", "aaaaaaaaaaaaaa"), { key: stranger, body });
      expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
      expect(JSON.stringify(await contents(world.store))).toBe(before);
    },
  );

  async function contents(store: Awaited<ReturnType<typeof setup>>["store"]) {
    const kinds = [
      "secret",
      "secret-value",
      "api-key",
      "s3-key",
      "public-endpoint",
      "hub-deployment",
      "ssh-keys",
      "endpoint",
      "removed-endpoint",
    ].concat([
      "pod",
      "cluster",
      "removed-cluster",
      "template",
      "network-volume",
      "removed-network-volume",
      "registry",
      "registry-credential",
      "registry-delegation",
      "terminal-ticket",
      "user",
      "invitation",
    ]);
    return Promise.all(kinds.map((kind) => store.list({ kind, limit: 100 })));
  }

  test("SSH keys of one account are not those of another", async () => {
    await using world = await setup();
    const stranger = await world.newKey({ of: await world.services.accounts.create("stranger", "s@localhost") });
    await world.call("PUT", "/v2/account/ssh-keys", { body: { keys: ["ssh-ed25519 AAAA me"] } });
    expect((await world.call("GET", "/v2/account/ssh-keys", { key: stranger })).json).toEqual({ keys: [] });
  });

  test("a list of API keys holds the account's own", async () => {
    await using world = await setup();
    const stranger = await world.newKey({ of: await world.services.accounts.create("stranger", "s@localhost") });
    expect((await world.call("GET", API_KEYS, { key: stranger })).json.apiKeys).toHaveLength(1);
  });
});

describe("no key can grant more than it has", () => {
  const narrow = grants.filter((grant) => grant !== "all");

  test.each(narrow)("a key with '%s' beside api-keys:write hands on what it holds and nothing more", async (held) => {
    await using world = await setup();
    const holds: Grant[] = held === "api-keys:write" ? [held] : [held, "api-keys:write"];
    const key = await world.newKey({ scopes: holds });
    for (const grant of grants) {
      const { status } = await world.call("POST", API_KEYS, { key, body: { scopes: [grant] } });
      const within = grant !== "all" && (holds.includes(grant) || includedIn(holds, grant));
      expect([grant, status]).toEqual([grant, within ? 201 : 403]);
    }
  });

  /** Writing and read-only include reading. The rule is stated here again, so that the test does not use the code it checks. */
  function includedIn(holds: Grant[], grant: Grant): boolean {
    if (!grant.endsWith(":read")) return false;
    return holds.includes("read-only") || holds.includes(grant.replace(":read", ":write") as Grant);
  }

  test("one scope too many refuses the whole key and names it", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["api-keys:write", "secrets:read"] });
    const { status, json } = await world.call("POST", API_KEYS, {
      key,
      body: { scopes: ["secrets:read", "pods:read"] },
    });
    expect([status, json.detail]).toEqual([403, "This key lacks the scope 'pods:read' and cannot grant it."]);
  });

  test("a key revokes those that it could make, and no wider one", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["api-keys:write", "pods:write"] });
    const make = async (...scopes: Grant[]) =>
      (await world.call("POST", API_KEYS, { body: { scopes } })).json.id as string;
    const revoke = async (id: string) => (await world.call("DELETE", `${API_KEYS}/${id}`, { key })).status;
    expect(await revoke(await make("pods:read", "api-keys:read"))).toBe(204);
    const wide = await make("all");
    const { status, json } = await world.call("DELETE", `${API_KEYS}/${wide}`, { key });
    expect([status, json.detail]).toEqual([403, "You lack the scope 'all', and cannot revoke a key that has it."]);
    expect((await world.call("GET", API_KEYS)).json.apiKeys.map(({ id }: { id: string }) => id)).toContain(wide);
  });

  test("reading every resource is as much as read-only", () => {
    const everyRead = grants.filter((grant) => grant.endsWith(":read"));
    expect(mayGrant(everyRead, "read-only")).toBe(true);
    expect(mayGrant(everyRead.slice(1), "read-only")).toBe(false);
  });

  test("a key narrowed to endpoints makes keys narrowed to the same ones", async () => {
    await using world = await setup();
    await putEndpoints(world.store, world.owner.account, ["one", "two", "three"]);
    const body = { scopes: ["api-keys:write"], endpoints: ["one", "two"] };
    const { key } = (await world.call("POST", API_KEYS, { body })).json;
    const make = async (endpoints?: string[]) =>
      (await world.call("POST", API_KEYS, { key, body: { scopes: ["api-keys:write"], endpoints } })).status;
    expect([await make(["one"]), await make(["one", "three"]), await make()]).toEqual([201, 403, 403]);
  });

  test("an expiring key makes no key that outlives it", async () => {
    await using world = await setup();
    const expiresAt = world.clock.now() + 60_000;
    const key = await world.newKey({ scopes: ["all"], expiresAt });
    const make = async (at?: number) => {
      const body = { scopes: ["read-only"], expiresAt: at && timestamp(at) };
      return (await world.call("POST", API_KEYS, { key, body })).status;
    };
    expect([await make(expiresAt), await make(expiresAt + 1), await make()]).toEqual([201, 403, 403]);
  });
});

/** Stores only the fields that a narrowed key needs. */
function putEndpoints(store: Store, account: string, ids: string[]) {
  const records = ids.map((id) => ({ kind: "endpoint", id, account, createdAt: 0, doc: { v: 1 }, unique: [] }));
  return store.commit(records.map((record) => ({ do: "insert", record })));
}
