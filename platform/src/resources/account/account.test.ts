/** SSH keys of an account, and its API keys as a resource. */
import { describe, expect, test } from "vitest";
import { InterceptedStore, setup } from "../../../tests/world.ts";

const SSH_KEYS = "/v2/account/ssh-keys";
const API_KEYS = "/v2/account/api-keys";

describe("SSH keys", () => {
  test("are none at first, replaced as a whole, and removed by an empty list", async () => {
    await using world = await setup();
    expect((await world.call("GET", SSH_KEYS)).json).toEqual({ keys: [] });
    const two = { keys: ["ssh-ed25519 AAAAC3Nz me@host", "ecdsa-sha2-nistp256 AAAAE2Vj"] };
    expect((await world.call("PUT", SSH_KEYS, { body: two })).json).toEqual(two);
    const one = { keys: ["sk-ssh-ed25519@openssh.com AAAA a comment with spaces"] };
    await world.call("PUT", SSH_KEYS, { body: one });
    expect((await world.call("GET", SSH_KEYS)).json).toEqual(one);
    await world.call("PUT", SSH_KEYS, { body: { keys: [] } });
    expect((await world.call("GET", SSH_KEYS)).json).toEqual({ keys: [] });
  });

  test.each([["AAAA"], ["ssh-rsa"], ["rsa AAAA"], ["ssh-rsa AAAA\nssh-rsa BBBB"], [""], ["ssh-rsa  AAAA"]])(
    "422: %j is no line of an authorized_keys file",
    async (line) => {
      await using world = await setup();
      const { status, json } = await world.call("PUT", SSH_KEYS, { body: { keys: ["ssh-rsa AAAA", line] } });
      expect([status, json.errors]).toEqual([422, [expect.stringMatching(/^\$\.keys\[1\]: must match /)]]);
      expect((await world.call("GET", SSH_KEYS)).json).toEqual({ keys: [] });
    },
  );

  test("of two replacements at once both succeed, and one is the last word", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    let rival = false;
    store.beforeCommit = async () => {
      if (rival) return;
      rival = true;
      expect((await world.call("PUT", SSH_KEYS, { body: { keys: ["ssh-rsa RIVAL"] } })).status).toBe(200);
    };
    expect((await world.call("PUT", SSH_KEYS, { body: { keys: ["ssh-rsa MINE"] } })).status).toBe(200);
    expect((await world.call("GET", SSH_KEYS)).json).toEqual({ keys: ["ssh-rsa MINE"] });
  });
});

describe("API keys", () => {
  test("a key cannot be narrowed to an endpoint that is not there, or another account's", async () => {
    await using world = await setup();
    const record = { kind: "endpoint", id: "theirs", account: "other", createdAt: 0, doc: { v: 1 }, unique: [] };
    await world.store.commit([{ do: "insert", record }]);
    const body = { scopes: ["serverless:invoke"], endpoints: ["nothing", "theirs"] };
    const { status, json } = await world.call("POST", API_KEYS, { body });
    expect([status, json.errors]).toEqual([
      422,
      ["$.endpoints[0]: there is no endpoint 'nothing'", "$.endpoints[1]: there is no endpoint 'theirs'"],
    ]);
  });

  test("a new key shows what was asked for, and leaves out what was not", async () => {
    await using world = await setup();
    const body = { scopes: ["secrets:read", "serverless:invoke"], endpoints: ["abc"], exempt: false };
    const record = {
      kind: "endpoint",
      id: "abc",
      account: world.owner.account,
      createdAt: 0,
      doc: { v: 1 },
      unique: [],
    };
    await world.store.commit([{ do: "insert", record }]);
    const { status, json } = await world.call("POST", API_KEYS, { body });
    expect([status, json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[a-z0-9]{14}$/),
        key: expect.stringMatching(/^mlr_/),
        createdAt: "2026-01-01T00:00:00.000Z",
        lastUsedAt: null,
        ...body,
      },
    ]);
  });

  test.each([
    ["no scopes", {}, "$: property 'scopes' is required"],
    ["an empty list", { scopes: [] }, "$.scopes: must have at least 1 item"],
    ["an unknown scope", { scopes: ["everything"] }, expect.stringMatching(/^\$\.scopes\[0\]: must be one of all, /)],
    ["one scope twice", { scopes: ["all", "all"] }, "$.scopes: items 0 and 1 are the same"],
    ["a key of the caller's choice", { scopes: ["all"], key: "k" }, "$: additional properties 'key' not allowed"],
  ])("422: %s", async (_kind, body, error) => {
    await using world = await setup();
    const { status, json } = await world.call("POST", API_KEYS, { body });
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("deleting one leaves no record of its use behind", async () => {
    await using world = await setup();
    const { id, key } = (await world.call("POST", API_KEYS, { body: { scopes: ["all"] } })).json;
    await world.call("GET", SSH_KEYS, { key });
    await world.clock.advance(60_000);
    expect(await world.store.get("api-key-use", id)).toBeDefined();
    await world.call("DELETE", `${API_KEYS}/${id}`);
    expect(await world.store.get("api-key-use", id)).toBeUndefined();
    await world.clock.advance(60_000);
    expect(await world.store.get("api-key-use", id)).toBeUndefined();
  });
});

describe("accounts", () => {
  test("the first owner is the same whoever asks first", async () => {
    await using world = await setup();
    const owners = await Promise.all([1, 2, 3].map(() => world.services.accounts.firstOwner()));
    expect(owners).toEqual([world.owner, world.owner, world.owner]);
  });

  test("names are unique without case, and a deleted account takes everything along", async () => {
    await using world = await setup();
    const { accounts, secrets } = world.services;
    const of = await accounts.create("Team", "t@localhost");
    await expect(accounts.create("team", "u@localhost")).rejects.toThrow("already exists");
    const key = await world.newKey({ of });
    await world.call("POST", "/v2/account/secrets", { key, body: { name: "token", value: "v" } });
    await accounts.delete("team");
    await world.clock.advance(1000);
    expect((await world.call("GET", SSH_KEYS, { key })).status).toBe(401);
    expect(await secrets.reveal(of.account, "token")).toBeUndefined();
    expect((await accounts.list()).map(({ name }) => name)).toEqual(["default"]);
  });

  test("the first account cannot be deleted", async () => {
    await using world = await setup();
    await expect(world.services.accounts.delete("default")).rejects.toThrow("cannot be deleted");
  });
});
