/** The life of keys: how they are sent, when they stop working, and what is remembered about them. */
import { describe, expect, test } from "vitest";
import { idle } from "../../tests/idle.ts";
import { setup } from "../../tests/world.ts";
import { timestamp } from "../kernel/clock.ts";
import { keyDigest } from "../kernel/ids.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";

const API_KEYS = "/v2/account/api-keys";
const SSH_KEYS = "/v2/account/ssh-keys";

describe("the Authorization header", () => {
  test.each([["Bearer"], ["bearer"], ["BEARER"], ["Bearer  "]])("takes the scheme as '%s'", async (scheme) => {
    await using world = await setup();
    const headers = { authorization: `${scheme} ${world.key}` };
    expect((await world.call("GET", SSH_KEYS, { key: null, headers })).status).toBe(200);
  });

  test("is the only place where a key counts on REST", async () => {
    await using world = await setup();
    const answer = await world.call("GET", `${SSH_KEYS}?api_key=${world.key}`, { key: null });
    expect([answer.status, answer.json.detail]).toEqual([401, "missing bearer token"]);
  });

  test("with a key of a thousand characters, or one that differs in its last, is 401", async () => {
    await using world = await setup();
    expect((await world.call("GET", SSH_KEYS, { key: "k".repeat(1000) })).status).toBe(401);
    const last = world.key.endsWith("A") ? "B" : "A";
    expect((await world.call("GET", SSH_KEYS, { key: world.key.slice(0, -1) + last })).status).toBe(401);
  });
});

describe("expiry", () => {
  test("a key works until the very millisecond before it expires", async () => {
    await using world = await setup();
    const expiresAt = timestamp(world.clock.now() + 5000);
    const made = await world.call("POST", API_KEYS, { body: { scopes: ["all"], expiresAt } });
    expect([made.status, made.json.expiresAt]).toEqual([201, expiresAt]);
    const use = async () => (await world.call("GET", SSH_KEYS, { key: made.json.key })).status;
    await world.clock.advance(4999);
    expect(await use()).toBe(200);
    await world.clock.advance(1);
    expect(await use()).toBe(401);
  });

  test("400: an expiry in the past", async () => {
    await using world = await setup();
    const body = { scopes: ["all"], expiresAt: "2025-12-31T23:59:59Z" };
    const { status, json } = await world.call("POST", API_KEYS, { body });
    expect([status, json.detail]).toEqual([400, "'expiresAt' is in the past: the key could never be used."]);
  });

  test.each([["tomorrow"], ["2026-13-01T00:00:00Z"], ["2026-02-30T00:00:00Z"], [""]])(
    "422: '%s' is no time",
    async (expiresAt) => {
      await using world = await setup();
      const { status, json } = await world.call("POST", API_KEYS, { body: { scopes: ["all"], expiresAt } });
      expect([status, json.errors]).toEqual([422, ["$.expiresAt: must be a valid date-time"]]);
    },
  );
});

describe("revocation", () => {
  test("a key revoked through this server stops working at once", async () => {
    await using world = await setup();
    const made = (await world.call("POST", API_KEYS, { body: { scopes: ["all"] } })).json;
    expect((await world.call("GET", SSH_KEYS, { key: made.key })).status).toBe(200);
    expect((await world.call("DELETE", `${API_KEYS}/${made.id}`)).status).toBe(204);
    const answer = await world.call("GET", SSH_KEYS, { key: made.key });
    expect([answer.status, answer.json.detail]).toEqual([401, "invalid API key"]);
  });

  test("a key revoked elsewhere is remembered for less than a second", async () => {
    await using world = await setup();
    const made = (await world.call("POST", API_KEYS, { body: { scopes: ["all"] } })).json;
    const use = async () => (await world.call("GET", SSH_KEYS, { key: made.key })).status;
    expect(await use()).toBe(200);
    await world.store.commit([{ do: "remove", kind: "api-key", id: made.id }]);
    await world.clock.advance(999);
    expect(await use()).toBe(200);
    await world.clock.advance(1);
    expect(await use()).toBe(401);
  });

  test("a key that was refused works as soon as it exists", async () => {
    await using world = await setup();
    const [made] = await world.store.list({ kind: "api-key", limit: 1 });
    await world.store.commit([{ do: "remove", kind: "api-key", id: made!.id }]);
    expect((await world.call("GET", SSH_KEYS)).status).toBe(401);
    const key = { scope: "*", name: "digest", value: keyDigest(world.key) };
    await world.store.commit([{ do: "insert", record: { ...made!, unique: [key] } }]);
    expect((await world.call("GET", SSH_KEYS)).status).toBe(200);
  });

  test("a key that is revoked while it is looked up works no longer", async () => {
    const store = new MemoryStore();
    await using world = await setup({ store });
    const made = (await world.call("POST", API_KEYS, { body: { scopes: ["all"] } })).json;
    await world.clock.advance(1000);
    const lookUp = Promise.withResolvers<void>();
    const get = store.get.bind(store);
    store.get = async (kind, id) => {
      if (kind !== "account") return get(kind, id);
      store.get = get;
      await lookUp.promise;
      return get(kind, id);
    };
    const use = () => world.call("GET", SSH_KEYS, { key: made.key });
    const first = use();
    await idle();
    expect((await world.call("DELETE", `${API_KEYS}/${made.id}`)).status).toBe(204);
    lookUp.resolve();
    await first;
    expect((await use()).status).toBe(401);
  });

  test("a key may revoke itself", async () => {
    await using world = await setup();
    const made = (await world.call("POST", API_KEYS, { body: { scopes: ["api-keys:write"] } })).json;
    expect((await world.call("DELETE", `${API_KEYS}/${made.id}`, { key: made.key })).status).toBe(204);
    expect((await world.call("DELETE", `${API_KEYS}/${made.id}`, { key: made.key })).status).toBe(401);
  });
});

describe("what is kept of a key", () => {
  test("the key itself is in the answer to its creation and nowhere else", async () => {
    await using world = await setup();
    const made = await world.call("POST", API_KEYS, { body: { scopes: ["read-only"], name: "ci" } });
    expect(made.json.key).toMatch(/^mlr_[\w-]{43}$/);
    const listed = await world.call("GET", API_KEYS);
    const { key, ...shown } = made.json;
    expect(listed.json.apiKeys).toContainEqual(shown);
    expect(listed.text).not.toContain(key);
    expect(JSON.stringify(await world.store.list({ kind: "api-key", limit: 10 }))).not.toContain(key);
  });

  test("when it was last used is noted within a minute", async () => {
    await using world = await setup();
    const lastUsed = async () => {
      const { apiKeys } = (await world.call("GET", API_KEYS, { key: reader })).json;
      return apiKeys.find(({ name }: { name?: string }) => name === "ci").lastUsedAt;
    };
    const reader = await world.newKey();
    const made = (await world.call("POST", API_KEYS, { key: reader, body: { scopes: ["all"], name: "ci" } })).json;
    expect(await lastUsed()).toBeNull();
    await world.call("GET", SSH_KEYS, { key: made.key });
    await world.clock.advance(60_000);
    expect(await lastUsed()).toBe("2026-01-01T00:00:00.000Z");
    await world.call("GET", SSH_KEYS, { key: made.key });
    await world.clock.advance(60_000);
    expect(await lastUsed()).toBe("2026-01-01T00:01:00.000Z");
  });

  test("a use in the last minute is noted when the server ends", async () => {
    const world = await setup();
    await world.call("GET", SSH_KEYS);
    await world[Symbol.asyncDispose]();
    const uses = await world.store.list({ kind: "api-key-use", limit: 10 });
    expect(uses.map(({ doc }) => doc.at)).toEqual([world.clock.now()]);
  });
});
