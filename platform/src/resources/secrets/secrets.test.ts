/** Creating, listing, reading and deleting secrets. */
import { describe, expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";

const SECRETS = "/v2/account/secrets";

describe("create", () => {
  test("answers 201 with the secret, its two times equal and its value nowhere", async () => {
    await using world = await setup();
    const body = { name: "hf_token", value: "hunter2-hunter2", description: "for the hub" };
    const { status, json, text } = await world.call("POST", SECRETS, { body });
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{14}$/),
      name: "hf_token",
      description: "for the hub",
      createdAt: "2026-01-01T00:00:00.000Z",
      valueLastUpdatedAt: "2026-01-01T00:00:00.000Z",
    });
    expect(text).not.toContain("hunter2");
    expect(await world.services.secrets.reveal(world.owner.account, "hf_token")).toBe("hunter2-hunter2");
  });

  test.each([[undefined], [""]])("a description of %j is null", async (description) => {
    await using world = await setup();
    const { json } = await world.call("POST", SECRETS, { body: { name: "n", value: "v", description } });
    expect(json.description).toBeNull();
  });

  test.each([["token"], ["TOKEN"], ["Token"]])("409: the name 'token' is taken, also for '%s'", async (name) => {
    await using world = await setup();
    await world.call("POST", SECRETS, { body: { name: "token", value: "first" } });
    const { status, json } = await world.call("POST", SECRETS, { body: { name, value: "second" } });
    expect([status, json.title, json.detail]).toEqual([409, "Conflict", `A secret named '${name}' already exists.`]);
    expect((await world.call("GET", SECRETS)).json.secrets).toHaveLength(1);
    expect(await world.services.secrets.reveal(world.owner.account, "token")).toBe("first");
  });

  test("of two creations with one name at once, one succeeds", async () => {
    await using world = await setup();
    const create = (value: string) => world.call("POST", SECRETS, { body: { name: "token", value } });
    const statuses = (await Promise.all(["a", "b", "c", "d"].map(create))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 409, 409, 409]);
  });

  test("a name is taken in one account only", async () => {
    await using world = await setup();
    const stranger = await world.newKey({ of: await world.services.accounts.create("stranger", "s@localhost") });
    const body = { name: "token", value: "v" };
    expect((await world.call("POST", SECRETS, { body })).status).toBe(201);
    expect((await world.call("POST", SECRETS, { body, key: stranger })).status).toBe(201);
  });

  test.each([["RUNPOD_TOKEN"], ["runpod"], ["Millrace.key"], ["MILLRACE"]])(
    "400: the name '%s' begins with a reserved word",
    async (name) => {
      await using world = await setup();
      const { status, json } = await world.call("POST", SECRETS, { body: { name, value: "v" } });
      expect([status, json.detail]).toEqual([400, expect.stringContaining("reserved")]);
    },
  );

  test.each([["_"], ["a.b-c/d_9"], ["A"], ["my_runpod"], ["x".repeat(191)]])("'%s' is a name", async (name) => {
    await using world = await setup();
    expect((await world.call("POST", SECRETS, { body: { name, value: "v" } })).status).toBe(201);
  });

  test.each([[""], ["9lives"], ["-a"], ["a b"], ["é"], ["a\n"], ["x".repeat(192)]])(
    "422: %j is not a name",
    async (name) => {
      await using world = await setup();
      const { status, json } = await world.call("POST", SECRETS, { body: { name, value: "v" } });
      expect([status, json.errors[0]]).toEqual([422, expect.stringMatching(/^\$\.name: must /)]);
    },
  );

  test("422: name and value are required, and nothing else is taken", async () => {
    await using world = await setup();
    const { status, json } = await world.call("POST", SECRETS, { body: { id: "mine" } });
    expect([status, json.errors.toSorted()]).toEqual([
      422,
      [
        "$: additional properties 'id' not allowed",
        "$: property 'name' is required",
        "$: property 'value' is required",
      ],
    ]);
  });
});

describe("list", () => {
  test("gives the newest first, without values and without a pagination block", async () => {
    await using world = await setup();
    for (const name of ["one", "two", "three"]) {
      await world.call("POST", SECRETS, { body: { name, value: "hunter2-hunter2" } });
      await world.clock.advance(1000);
    }
    const { status, json, text } = await world.call("GET", SECRETS);
    expect([status, Object.keys(json)]).toEqual([200, ["secrets"]]);
    expect(json.secrets.map(({ name }: { name: string }) => name)).toEqual(["three", "two", "one"]);
    expect(text).not.toContain("hunter2");
  });

  test.each([
    ["Token", ["Token"]],
    ["tOKEN", ["Token"]],
    ["tok", []],
    ["", []],
    ["%00", []],
  ])("filtered by the name '%s' gives %j", async (name, expected) => {
    await using world = await setup();
    for (const given of ["Token", "other"]) await world.call("POST", SECRETS, { body: { name: given, value: "v" } });
    const { status, json } = await world.call("GET", `${SECRETS}?name=${name}`);
    expect([status, json.secrets.map((secret: { name: string }) => secret.name)]).toEqual([200, expected]);
  });

  test("is empty for an account that has none, whatever others have", async () => {
    await using world = await setup();
    await world.call("POST", SECRETS, { body: { name: "token", value: "v" } });
    const key = await world.newKey({ of: await world.services.accounts.create("stranger", "s@localhost") });
    expect((await world.call("GET", SECRETS, { key })).json).toEqual({ secrets: [] });
    expect((await world.call("GET", `${SECRETS}?name=token`, { key })).json).toEqual({ secrets: [] });
  });
});

describe("get", () => {
  test("gives what the creation gave", async () => {
    await using world = await setup();
    const created = await world.call("POST", SECRETS, { body: { name: "token", value: "v", description: "d" } });
    const { status, json } = await world.call("GET", `${SECRETS}/${created.json.id}`);
    expect([status, json]).toEqual([200, created.json]);
  });

  test("404: no such secret", async () => {
    await using world = await setup();
    const { status, json } = await world.call("GET", `${SECRETS}/aaaaaaaaaaaaaa`);
    expect([status, json]).toEqual([404, { title: "Not Found", status: 404, detail: "secret not found" }]);
  });
});

describe("delete", () => {
  test("answers 204 without a body; the secret is gone and its name is free", async () => {
    await using world = await setup();
    const body = { name: "token", value: "v" };
    const { id } = (await world.call("POST", SECRETS, { body })).json;
    const { status, text, headers } = await world.call("DELETE", `${SECRETS}/${id}`);
    expect([status, text, headers.has("content-type"), headers.has("ratelimit")]).toEqual([204, "", false, true]);
    expect((await world.call("GET", `${SECRETS}/${id}`)).status).toBe(404);
    expect(await world.services.secrets.reveal(world.owner.account, "token")).toBeUndefined();
    expect((await world.call("POST", SECRETS, { body })).status).toBe(201);
  });

  test("404 the second time", async () => {
    await using world = await setup();
    const { id } = (await world.call("POST", SECRETS, { body: { name: "token", value: "v" } })).json;
    await world.call("DELETE", `${SECRETS}/${id}`);
    expect((await world.call("DELETE", `${SECRETS}/${id}`)).status).toBe(404);
  });
});

describe("values at rest", () => {
  test("a placeholder names its secret exactly, with its case", async () => {
    await using world = await setup();
    await world.call("POST", SECRETS, { body: { name: "Token", value: "v" } });
    const reveal = (name: string) => world.services.secrets.reveal(world.owner.account, name);
    expect([await reveal("Token"), await reveal("token")]).toEqual(["v", undefined]);
  });

  test("no stored document holds the value, and two secrets with one value do not look alike", async () => {
    await using world = await setup();
    for (const name of ["one", "two"]) {
      await world.call("POST", SECRETS, { body: { name, value: "hunter2-hunter2" } });
    }
    const kept = await world.store.list({ kind: "secret-value", limit: 10 });
    const sealed = kept.map(({ doc }) => (doc.sealed as { data: string }).data);
    expect(JSON.stringify(kept)).not.toContain("hunter2");
    expect(new Set(sealed).size).toBe(2);
  });

  test("a sealed value copied to another secret does not open there", async () => {
    await using world = await setup();
    const [one, two] = await Promise.all(
      ["one", "two"].map(
        async (name) => (await world.call("POST", SECRETS, { body: { name, value: `of ${name}` } })).json,
      ),
    );
    const stolen = (await world.store.get("secret-value", one.id))!.doc;
    await world.store.commit([{ do: "patch", kind: "secret-value", id: two.id, set: stolen }]);
    await expect(world.services.secrets.reveal(world.owner.account, "two")).rejects.toThrow();
  });
});
