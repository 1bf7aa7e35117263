/** GraphQL over HTTP: authentication, body, statuses, and the form of errors. */
import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ask, dataOf, errorOf } from "../../../tests/graphql.ts";
import { InterceptedStore, setup } from "../../../tests/world.ts";

const MYSELF = "query { myself { id email } }";

describe("who asks", () => {
  test("a bearer token, or a key in the address", async () => {
    await using world = await setup();
    const whose = { myself: { id: world.owner.account, email: "owner@localhost" } };
    expect(await dataOf(world, MYSELF)).toEqual(whose);
    expect(await dataOf(world, MYSELF, { key: null, path: `/graphql?api_key=${world.key}` })).toEqual(whose);
  });

  test("the key in the address decides where both are sent, and counts for nothing where it is empty", async () => {
    await using world = await setup();
    const both = await ask(world, MYSELF, { path: "/graphql?api_key=wrong-key-of-nobody-at-all" });
    expect(both.status).toBe(401);
    expect((await dataOf(world, MYSELF, { path: "/graphql?api_key=" })).myself.id).toBe(world.owner.account);
    const path = `/graphql?api_key=${world.key}`;
    expect((await dataOf(world, MYSELF, { key: "wrong-key-of-nobody-at-all", path })).myself.id).toBeTruthy();
  });

  test("a key that nobody knows is 401 with a JSON body in the words that clients compare", async () => {
    await using world = await setup();
    const { status, json, headers } = await ask(world, MYSELF, { key: "wrong-key-of-nobody-at-all" });
    expect(status).toBe(401);
    expect(json).toEqual({
      errors: [
        {
          message: "Unauthorized",
          extensions: { code: "UNAUTHENTICATED", reason: "invalid API key", reasonCode: "key-unknown" },
        },
      ],
    });
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  test("without any key the catalog is read, and myself is null without an error", async () => {
    await using world = await setup();
    const { status, json } = await ask(world, "{ myself { id } gpuTypes { id } }", { key: null });
    expect([status, json.data.myself, "errors" in json]).toEqual([200, null, false]);
    expect(json.data.gpuTypes.length).toBeGreaterThan(40);
  });

  test("a key in the address is in no line of the log", async () => {
    await using world = await setup();
    await ask(world, MYSELF, { key: null, path: `/graphql?api_key=${world.key}` });
    await ask(world, MYSELF, { key: null, path: "/graphql?api_key=wrong-key-of-nobody-at-all" });
    await ask(world, "{ nonsense }", { key: null, path: `/graphql?api_key=${world.key}` });
    expect(world.logged.filter((line) => line.includes('"/graphql"'))).toHaveLength(3);
    expect(world.logged.join()).not.toMatch(new RegExp(`${world.key}|wrong-key|api_key`));
  });
});

describe("a body", () => {
  test.each([[undefined], [null], [{}], [{ undeclared: 1 }]])("may have variables %j", async (variables) => {
    await using world = await setup();
    expect(await dataOf(world, MYSELF, { more: { variables } })).toMatchObject({ myself: {} });
  });

  test("may name its operation, and have keys that nobody knows", async () => {
    await using world = await setup();
    const two = "query One { myself { id } } query Two { gpuTypes { id } }";
    const data = await dataOf(world, two, { more: { operationName: "One", extensions: {}, tag: 1 } });
    expect(data).toEqual({ myself: { id: world.owner.account } });
    expect((await ask(world, two, { more: { operationName: "Three" } })).status).toBe(400);
    expect((await ask(world, two)).status).toBe(400);
  });

  test("is JSON in any charset, and nothing else", async () => {
    await using world = await setup();
    const as = async (type: string) => (await ask(world, MYSELF, { headers: { "content-type": type } })).status;
    expect(await as("application/json; charset=UTF-8")).toBe(200);
    expect(await as("application/json;charset=iso-8859-1")).toBe(200);
    expect(await as("text/plain")).toBe(415);
  });

  test.each([
    ["[]"],
    ["{"],
    ["{}"],
    ['{"query":1}'],
    ['{"query":"{a}","variables":[]}'],
    ['{"query":"{a}","operationName":1}'],
  ])("is not %s", async (body) => {
    await using world = await setup();
    const { status, json } = await world.call("POST", "/graphql", { body });
    expect([status, typeof json.errors[0].message]).toEqual([400, "string"]);
  });
});

describe("statuses", () => {
  test.each([
    ["a document that cannot be parsed", "query {", undefined, "Syntax Error"],
    ["a field that is not there", "{ myself { shoe } }", undefined, 'Cannot query field "shoe" on type "User"'],
    ["a variable of another type", "query ($id: Shoe) { myself { id } }", { id: 1 }, 'Unknown type "Shoe"'],
    ["nothing at all", "", undefined, "Syntax Error"],
  ])("400 for %s", async (_what, query, variables, message) => {
    await using world = await setup();
    const { status, json } = await ask(world, query, { variables });
    expect(status).toBe(400);
    expect(json.errors[0].message).toContain(message);
    expect(json.errors[0].extensions).toEqual({ code: "GRAPHQL_VALIDATION_FAILED" });
    expect(json).not.toHaveProperty("data");
  });

  test("200 for what was executed and refused, with the path, a code and the scope that is missing", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["catalog:read"] });
    const { status, json } = await ask(world, MYSELF, { key });
    expect([status, json.data]).toEqual([200, { myself: { id: world.owner.account, email: null } }]);
    expect(json.errors).toEqual([
      {
        message: "Unauthorized: This API key lacks the scope 'account:read'.",
        locations: expect.any(Array),
        path: ["myself", "email"],
        extensions: { code: "RUNPOD", meaning: "not-allowed", reasonCode: "scope-missing", scope: "account:read" },
      },
    ]);
  });

  test("what nobody foresaw is an error that names a line of the log and nothing else", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    await ask(world, MYSELF);
    store.beforeRead = (kind) => {
      if (kind === "user") throw new TypeError("of a very private nature");
    };
    const { message, extensions } = await errorOf(world, MYSELF);
    expect(message).toMatch(/^Internal server error: it is in the server's log under the id \w+/);
    expect(extensions).toEqual({ code: "INTERNAL_SERVER_ERROR", reasonCode: "fault" });
    const id = /id ([^.]+)\./.exec(message)![1]!;
    expect(world.logged.find((line) => line.includes(id))).toContain("of a very private nature");
  });

  test("405 for another method, in the form of the others", async () => {
    await using world = await setup();
    const { status, json, headers } = await world.call("PUT", "/graphql");
    expect([status, headers.get("allow")]).toEqual([405, "GET, POST"]);
    expect(json.errors[0].message).toContain("not allowed");
  });
});

describe("the page to try queries on", () => {
  test("is for browsers, loads nothing from anywhere, and runs no script but its own", async () => {
    await using world = await setup();
    const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
    const { status, text, headers } = await world.call("GET", "/graphql", { key: null, headers: { accept } });
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    const policy = headers.get("content-security-policy")!;
    expect(policy).toMatch(/default-src 'none'.*script-src 'sha256-[^']+'; connect-src 'self'/);
    expect(policy).not.toContain("unsafe");
    const hashed = (tag: string) => hash("sha256", new RegExp(`<${tag}>([^]*)</${tag}>`).exec(text)![1]!, "base64");
    expect(policy).toContain(`script-src 'sha256-${hashed("script")}'`);
    expect(policy).toContain(`style-src 'sha256-${hashed("style")}'`);
  });

  test("has examples that are valid", async () => {
    await using world = await setup();
    const { text } = await world.call("GET", "/graphql", { key: null, headers: { accept: "text/html" } });
    const examples = Object.values(JSON.parse(/const examples = (.*);/.exec(text)![1]!) as Record<string, string>);
    expect(examples.length).toBeGreaterThan(3);
    for (const query of examples) expect([query, (await ask(world, query)).status]).toEqual([query, 200]);
  });

  test("a query in an address is not answered: a program gets 405", async () => {
    await using world = await setup();
    const { status, headers } = await world.call("GET", "/graphql?query={countryCodes}");
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("rate limits", () => {
  test("a user's are those of the other surfaces", async () => {
    await using world = await setup({ rateLimits: "2,100,100" });
    await world.call("GET", "/v2/account");
    const { headers } = await ask(world, MYSELF);
    expect(headers.get("ratelimit")).toContain('"minute";r=0');
    const refused = await ask(world, MYSELF);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(refused.json.errors[0].message).toMatch(/^Too many requests: rate limit exceeded/);
  });

  test("those without a key are counted by their address, and those with one are not bound by it", async () => {
    await using world = await setup({ anonymousLimits: "2,100,100" });
    const read = (key: string | null) => ask(world, "{ gpuTypes { id } }", { key });
    expect([(await read(null)).status, (await read(null)).status]).toEqual([200, 200]);
    const refused = await read(null);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect((await read(world.key)).status).toBe(200);
    await world.clock.advance(60_000);
    expect((await read(null)).status).toBe(200);
  });
});
