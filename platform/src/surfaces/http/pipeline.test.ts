/** The pipeline of every request: the order of its checks, which methods a path has, and what may be logged. */
import { describe, expect, test } from "vitest";
import { InterceptedStore, setup } from "../../../tests/world.ts";
import { operations } from "../../contract.ts";
import { MIB } from "../../kernel/operation.ts";
import { restV1Operations } from "../rest-v1/operations.ts";

const SSH_KEYS = "/v2/account/ssh-keys";
const A_KEY = { keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"] };
const SECRETS = "/v2/account/secrets";

describe("a request with several faults is refused for the first in the pipeline's order", () => {
  const huge = { body: Buffer.alloc(MIB + 1, " "), headers: { "content-type": "text/plain" } };

  test.each([
    ["an unknown path", "GET", "/v2/account/nothing", {}],
    ["a wrong method", "DELETE", SSH_KEYS, {}],
    ["a body too large, of the wrong type", "PUT", SSH_KEYS, huge],
    ["a path outside the API", "GET", "/nothing", {}],
  ])("no key, and %s: 401", async (_kind, method, path, options) => {
    await using world = await setup();
    const { status, headers } = await world.call(method, path, { ...options, key: null });
    expect([status, headers.has("ratelimit")]).toEqual([401, false]);
  });

  test.each([
    ["an unknown path", "GET", "/v2/account/nothing"],
    ["a wrong method", "DELETE", SSH_KEYS],
    ["no scope for it", "PUT", SSH_KEYS],
  ])("limits used up, and %s: 429", async (_kind, method, path) => {
    await using world = await setup({ rateLimits: "1,1,1" });
    const key = await world.newKey({ scopes: ["read-only"] });
    await world.call("GET", SSH_KEYS, { key });
    expect((await world.call(method, path, { key })).status).toBe(429);
  });

  test("no scope, and a body too large: 403", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["read-only"] });
    expect((await world.call("PUT", SSH_KEYS, { ...huge, key })).status).toBe(403);
  });

  test("a body too large, of the wrong type: 413", async () => {
    await using world = await setup();
    expect((await world.call("PUT", SSH_KEYS, huge)).status).toBe(413);
  });

  test("the wrong type, and broken JSON: 415", async () => {
    await using world = await setup();
    const broken = { body: "{", headers: { "content-type": "text/plain" } };
    expect((await world.call("PUT", SSH_KEYS, broken)).status).toBe(415);
  });

  test("an invalid body for an unknown id: 422", async () => {
    await using world = await setup();
    expect((await world.call("PATCH", `${SECRETS}/aaaaaaaaaaaaaa`, { body: {} })).status).toBe(422);
  });
});

describe("paths and methods", () => {
  const byPath = Object.groupBy([...Object.values(operations), ...Object.values(restV1Operations)], ({ path }) => path);
  const all = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
  const cases = Object.entries(byPath).flatMap(([path, own]) => {
    const methods = own!.map(({ method }) => method as string);
    const served = methods.includes("GET") ? [...methods, "HEAD"] : methods;
    const allow = all.filter((method) => methods.includes(method)).join(", ");
    return all.filter((method) => !served.includes(method)).map((method) => ({ path, method, allow }));
  });

  test.each(cases)("405: $method $path allows $allow", async ({ path, method, allow }) => {
    await using world = await setup();
    const answer = await world.call(method, path.replace(/\{\w*id\}/i, "aaaaaaaaaaaaaa"));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    expect(answer.headers.has("ratelimit")).toBe(true);
    const detail = "The requested method is not allowed for this path.";
    const body = path.startsWith("/v1/")
      ? { message: detail, error: detail, status: 405 }
      : { title: "Method Not Allowed", status: 405, detail };
    if (method !== "HEAD") expect(answer.json).toEqual(body);
  });

  test.each([
    ["/v2/account/nothing"],
    ["/v2/account/secrets/aaaaaaaaaaaaaa/more"],
    ["/v2/billing/run"],
    ["/v2/catalog"],
    ["/v2"],
    ["/nothing"],
    ["/"],
  ])("404: %s is no path, whatever the method", async (path) => {
    await using world = await setup();
    for (const method of all) {
      const { status, json } = await world.call(method, path);
      expect([method, status]).toEqual([method, 404]);
      const detail = "The requested path was not found.";
      if (method !== "HEAD") expect(json).toEqual({ title: "Not Found", status: 404, detail });
    }
  });

  test("HEAD answers as GET does, without the body", async () => {
    await using world = await setup();
    const get = await world.call("GET", SECRETS);
    const head = await world.call("HEAD", SECRETS);
    expect([head.status, head.text]).toEqual([200, ""]);
    for (const name of ["content-type", "content-length", "ratelimit-policy"]) {
      expect([name, head.headers.get(name)]).toEqual([name, get.headers.get(name)]);
    }
  });

  test.each([["//v2//account///secrets"], ["/v2/account/secrets/"], ["/v2/account/secrets//?name=x"]])(
    "%s is /v2/account/secrets",
    async (path) => {
      await using world = await setup();
      expect((await world.call("GET", path)).json).toEqual({ secrets: [] });
    },
  );

  test.each([["%"], ["%zz"], ["%2"], ["%ff"], ["a%c3"]])("400: %s is no percent-encoding", async (id) => {
    await using world = await setup();
    const { status, json, headers } = await world.call("GET", `${SECRETS}/${id}`);
    const problem = { title: "Bad Request", status: 400, detail: "The request path is not valid." };
    expect([status, json, headers.has("ratelimit")]).toEqual([400, problem, true]);
    expect((await world.call("GET", `${SECRETS}/${id}`, { key: null })).status).toBe(401);
  });

  test.each([["%20"], ["%00"], ["%2e%2e%2f"], ["a%2Fb"], ["%F0%9F%8C%8A"], ["x".repeat(5000)], ["__proto__"]])(
    "404: %s is no id of anything",
    async (id) => {
      await using world = await setup();
      expect((await world.call("GET", `${SECRETS}/${id}`)).status).toBe(404);
    },
  );

  test("unknown query parameters are ignored", async () => {
    await using world = await setup();
    expect((await world.call("GET", `${SECRETS}?bogus=1&&=&name[]=x`)).json).toEqual({ secrets: [] });
  });
});

describe("an unforeseen fault", () => {
  test("is a 500 that names a log id and nothing internal; the log has the rest", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    store.beforeCommit = () => {
      throw new TypeError("kaboom in /srv/internal.ts", { cause: new Error("the deeper reason") });
    };
    const { status, json, headers } = await world.call("PUT", SSH_KEYS, { body: A_KEY });
    const id = headers.get("x-request-id")!;
    expect([status, json]).toEqual([
      500,
      {
        title: "Internal Server Error",
        status: 500,
        detail: `An unexpected error occurred. It is in the server's log under the id ${id}.`,
      },
    ]);
    expect(headers.has("ratelimit")).toBe(true);
    const line = world.logged.find((text) => text.includes("kaboom"));
    expect(line).toContain(id);
    expect(line).toContain("the deeper reason");
    expect(line).toContain("account/service.ts");
  });

  test("of one request leaves the next alone", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    store.beforeCommit = () => {
      store.beforeCommit = () => {};
      throw new Error("kaboom");
    };
    expect((await world.call("PUT", SSH_KEYS, { body: A_KEY })).status).toBe(500);
    expect((await world.call("PUT", SSH_KEYS, { body: A_KEY })).status).toBe(200);
  });
});

describe("the log", () => {
  test("has a line per request: who, what, outcome, and the id that the answer carries", async () => {
    await using world = await setup();
    const { headers } = await world.call("GET", `${SECRETS}?name=x`);
    expect(JSON.parse(world.logged.at(-1)!)).toEqual({
      message: "request",
      requestId: headers.get("x-request-id"),
      method: "GET",
      path: SECRETS,
      status: 200,
      ms: 0,
      account: world.owner.account,
      key: expect.stringMatching(/^[a-z0-9]{14}$/),
    });
  });

  test("never has a key, however it was sent", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    const { key } = world;
    store.beforeCommit = () => {
      throw new Error("kaboom");
    };
    await world.call("GET", `${SECRETS}?api_key=${key}`);
    await world.call("GET", `/nothing?api_key=${key}`);
    await world.call("GET", SECRETS, { key: null, headers: { authorization: key } });
    await world.call("PUT", `${SSH_KEYS}?api_key=${key}`, { body: A_KEY });
    await world.call("POST", SECRETS, { body: `{"value": "${key}"`, headers: { "x-api-key": key } });
    expect(world.logged.length).toBeGreaterThanOrEqual(5);
    expect(world.logged.join("\n")).not.toContain(key);
  });

  test("never has a key that was just made, nor a secret that was sent", async () => {
    await using world = await setup();
    const made = await world.call("POST", "/v2/account/api-keys", { body: { scopes: ["read-only"] } });
    await world.call("POST", SECRETS, { body: { name: "token", value: "hunter2-hunter2" } });
    await world.call("POST", SECRETS, { body: { name: "9", value: "hunter2-hunter2" } });
    expect(world.logged.join("\n")).not.toContain(made.json.key);
    expect(world.logged.join("\n")).not.toContain("hunter2");
  });
});
