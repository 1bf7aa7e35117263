/** The secret update, row by row of the specification's tables: fields, rules, statuses. */
import { parseList } from "structured-headers";
import { describe, expect, test } from "vitest";
import { withSecret as setup } from "../../../tests/secret.ts";
import { type Answer, InterceptedStore } from "../../../tests/world.ts";
import { problem } from "../../kernel/problem.ts";

const BAD_REQUEST = { title: "Bad Request", status: 400, detail: expect.any(String) };
const UNPROCESSABLE = { title: "Unprocessable Entity", status: 422, detail: "Request validation failed." };

describe("Fields of UpdateSecretRequest", () => {
  test("value: replaces the current value and is never returned", async () => {
    await using s = await setup();
    const answer = await s.update({ value: "second value" });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain("second value");
    expect(await s.value()).toBe("second value");
  });

  test("value: minimum length 1", async () => {
    await using s = await setup();
    const { status, json } = await s.update({ value: "" });
    expect([status, json]).toEqual([422, { ...UNPROCESSABLE, errors: ["$.value: must not be empty"] }]);
    expect(await s.value()).toBe("first value");
  });

  test("value: null is not a string", async () => {
    await using s = await setup();
    const { status, json } = await s.update({ value: null });
    expect([status, json.errors]).toEqual([422, ["$.value: must be string"]]);
    expect(await s.value()).toBe("first value");
  });

  test("description: the empty string clears it", async () => {
    await using s = await setup();
    const { status, json } = await s.update({ description: "" });
    expect([status, json]).toEqual([200, { ...s.secret, description: null }]);
    expect(await s.stored()).toEqual({ ...s.secret, description: null });
  });

  test("description: null is not a string", async () => {
    await using s = await setup();
    const { status, json } = await s.update({ description: null });
    expect([status, json.errors]).toEqual([422, ["$.description: must be string"]]);
    expect(await s.stored()).toEqual(s.secret);
  });

  test("the body has at least one property", async () => {
    await using s = await setup();
    const { status, json } = await s.update({});
    expect([status, json.errors]).toEqual([422, ["$: must have at least 1 property"]]);
  });

  test.each([["[]"], ["null"], ['"text"'], ["5"], ["true"]])("the body is a JSON object, not %s", async (body) => {
    await using s = await setup();
    const { status, json } = await s.update(body);
    expect([status, json.errors]).toEqual([422, ["$: must be object"]]);
  });

  test("properties other than value and description are rejected, each listed in errors", async () => {
    await using s = await setup();
    const { status, json } = await s.update({ value: "second value", bogus: 1, "odd name": 2 });
    expect([status, json]).toEqual([
      422,
      {
        ...UNPROCESSABLE,
        errors: ["$: additional properties 'bogus' not allowed", "$: additional properties 'odd name' not allowed"],
      },
    ]);
  });

  test("every fault of a body is reported, not only the first", async () => {
    await using s = await setup();
    const { json } = await s.update({ value: 5, description: [], bogus: 1 });
    expect(json.errors.toSorted()).toEqual([
      "$.description: must be string",
      "$.value: must be string",
      "$: additional properties 'bogus' not allowed",
    ]);
  });
});

describe("Rules", () => {
  test("1: only the fields sent are changed: a description leaves the value and its time alone", async () => {
    await using s = await setup();
    await s.world.clock.advance(5000);
    const { json } = await s.update({ description: "second description" });
    expect(json).toEqual({ ...s.secret, description: "second description" });
    expect(await s.value()).toBe("first value");
  });

  test("1: only the fields sent are changed: a value leaves the description alone", async () => {
    await using s = await setup();
    const { json } = await s.update({ value: "second value" });
    expect(json.description).toBe("first description");
  });

  test("2: the name cannot be changed", async () => {
    await using s = await setup();
    const { status, json } = await s.update({ name: "other", description: "second description" });
    expect([status, json.errors]).toEqual([422, ["$: additional properties 'name' not allowed"]]);
    expect(await s.stored()).toEqual(s.secret);
  });

  test("4: value first, description second: when the second write fails, the answer is an error and the value is in effect", async () => {
    const store = new InterceptedStore();
    await using s = await setup({ store });
    let commits = 0;
    store.beforeCommit = () => {
      if (++commits === 2) throw problem("unavailable", "The disk is full.");
    };
    const { status, json, headers } = await s.update({ value: "second value", description: "second description" });
    expect([status, json]).toEqual([503, { title: "Service Unavailable", status: 503, detail: "The disk is full." }]);
    expect(headers.has("ratelimit")).toBe(true);
    expect(await s.value()).toBe("second value");
    expect((await s.stored()).description).toBe("first description");
  });

  test("4: when the first write fails, neither field is changed", async () => {
    const store = new InterceptedStore();
    await using s = await setup({ store });
    store.beforeCommit = () => {
      throw problem("unavailable", "The disk is full.");
    };
    const { status } = await s.update({ value: "second value", description: "second description" });
    expect([status, await s.value(), await s.stored()]).toEqual([503, "first value", s.secret]);
  });

  test("4: an invalid body rotates nothing, though its value is valid", async () => {
    await using s = await setup();
    const { status } = await s.update({ value: "second value", description: "d".repeat(65_536) });
    expect([status, await s.value(), await s.stored()]).toEqual([422, "first value", s.secret]);
  });

  test("5: a rotation sets valueLastUpdatedAt, and nothing else of time", async () => {
    await using s = await setup();
    await s.world.clock.advance(90_000);
    const { json } = await s.update({ value: "second value" });
    expect(json).toEqual({ ...s.secret, valueLastUpdatedAt: "2026-01-01T00:01:30.000Z" });
    expect(await s.stored()).toEqual(json);
  });

  test("two updates at once both succeed, each with its own field", async () => {
    const store = new InterceptedStore();
    await using s = await setup({ store });
    let rival: Promise<Answer> | undefined;
    store.beforeCommit = async () => {
      // The first update has read the secret and is about to write. Now another update overtakes it.
      if (rival) return;
      rival = s.update({ description: "by the rival" });
      await rival;
    };
    const slow = await s.update({ value: "second value" });
    expect([slow.status, (await rival)?.status]).toEqual([200, 200]);
    expect([await s.value(), (await s.stored()).description]).toEqual(["second value", "by the rival"]);
    expect(slow.json).toEqual(await s.stored());
  });

  test("an update that loses its secret half way is a 404", async () => {
    const store = new InterceptedStore();
    await using s = await setup({ store });
    store.beforeCommit = async () => {
      store.beforeCommit = () => {};
      await s.world.call("DELETE", s.path);
    };
    expect((await s.update({ value: "second value" })).status).toBe(404);
  });
});

describe("Statuses", () => {
  test("200: update applied, answered with the Secret and the rate-limit headers", async () => {
    await using s = await setup();
    const { status, headers, json } = await s.update({ description: "second description" });
    expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    expect(Object.keys(json).toSorted()).toEqual(["createdAt", "description", "id", "name", "valueLastUpdatedAt"]);
    expect(windows(headers.get("ratelimit"))).toEqual(["minute", "hour", "day"]);
    expect(windows(headers.get("ratelimit-policy"))).toEqual(["minute", "hour", "day"]);
  });

  test.each([
    ["a body of zero length", ""],
    ["broken JSON", '{"value": "x"'],
    ["text after the JSON", '{"value": "x"} {}'],
    ["what is not UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ])("400: malformed: %s", async (_kind, body) => {
    await using s = await setup();
    const answer = await s.update(body);
    expectProblem(answer, BAD_REQUEST);
    expect(answer.headers.has("ratelimit")).toBe(true);
    expect(await s.value()).toBe("first value");
  });

  test("400: the detail of broken JSON does not repeat the secret in it", async () => {
    await using s = await setup();
    const { text } = await s.update('{"value": "hunter2-hunter2" "description": 1}');
    expect(text).not.toContain("hunter2");
    expect(s.world.logged.join("\n")).not.toContain("hunter2");
  });

  test.each([
    ["missing", {}, "missing bearer token"],
    ["malformed: no scheme", { authorization: "mlr_0123456789abcdef" }, /^malformed bearer token/],
    ["malformed: another scheme", { authorization: "Basic dXNlcjpwYXNz" }, /^malformed bearer token/],
    ["malformed: two words", { authorization: "Bearer one two" }, /^malformed bearer token/],
    ["malformed: nothing after the scheme", { authorization: "Bearer " }, /^malformed bearer token/],
    ["invalid: unknown key", { authorization: "Bearer mlr_0123456789abcdef" }, "invalid API key"],
    ["invalid: too short for a key", { authorization: "Bearer short" }, "invalid API key"],
  ])("401: bearer token %s", async (_kind, headers, detail) => {
    await using s = await setup();
    const answer = await s.update({ value: "second value" }, { key: null, headers });
    expectProblem(answer, { title: "Unauthorized", status: 401, detail: expect.stringMatching(detail) });
    expectNoRateLimit(answer);
    expect(await s.value()).toBe("first value");
  });

  test("401: bearer token expired", async () => {
    await using s = await setup();
    const key = await s.world.newKey({ expiresAt: s.world.clock.now() + 1000 });
    expect((await s.update({ value: "second value" }, { key })).status).toBe(200);
    await s.world.clock.advance(1000);
    const answer = await s.update({ value: "third value" }, { key });
    expectProblem(answer, { title: "Unauthorized", status: 401, detail: "expired API key" });
    expectNoRateLimit(answer);
    expect(await s.value()).toBe("second value");
  });

  test("403: valid token without access to the action", async () => {
    await using s = await setup();
    const key = await s.world.newKey({ scopes: ["read-only"] });
    const answer = await s.update({ value: "second value" }, { key });
    const detail = "This API key lacks the scope 'secrets:write'.";
    expectProblem(answer, { title: "Forbidden", status: 403, detail });
    expect(answer.headers.has("ratelimit")).toBe(true);
    expect(await s.value()).toBe("first value");
  });

  test("404: resource not found, or not accessible to the caller: the answers cannot be told apart", async () => {
    await using s = await setup();
    const stranger = await s.world.newKey({ of: await s.world.services.accounts.create("stranger", "s@localhost") });
    const body = { value: "second value" };
    const unknown = await s.world.call("PATCH", "/v2/account/secrets/aaaaaaaaaaaaaa", { body });
    const foreign = await s.update(body, { key: stranger });
    expectProblem(unknown, { title: "Not Found", status: 404, detail: "secret not found" });
    expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text]);
    expect([unknown.headers.has("ratelimit"), foreign.headers.has("ratelimit")]).toEqual([true, true]);
    expect(await s.value()).toBe("first value");
  });

  test.each([
    ["U+0000 in a value", '{"value": "a\\u0000b"}', "$.value: must not contain the character U+0000"],
    ["U+0000 in a description", '{"description": "\\u0000"}', "$.description: must not contain the character U+0000"],
    ["half a surrogate pair", '{"value": "\\ud83c"}', "$.value: must not contain half of a surrogate pair"],
    ["the halves in wrong order", '{"value": "\\udf0a\\ud83c"}', "$.value: must not contain half of a surrogate pair"],
  ])("422: failing validation: %s", async (_kind, body, error) => {
    await using s = await setup();
    const answer = await s.update(body);
    expectProblem(answer, { ...UNPROCESSABLE, errors: [error] });
    expect(answer.headers.has("ratelimit")).toBe(true);
    expect(await s.value()).toBe("first value");
  });

  test("a whole surrogate pair written as escapes is one character", async () => {
    await using s = await setup();
    expect((await s.update('{"value": "\\ud83c\\udf0a"}')).status).toBe(200);
    expect(await s.value()).toBe("🌊");
  });

  test("429: the detail names the exceeded window and Retry-After gives whole seconds", async () => {
    await using s = await setup({ rateLimits: "2,100,100" });
    expect((await s.update({ value: "second value" })).status).toBe(200);
    await s.world.clock.advance(17_300);
    const answer = await s.update({ value: "third value" });
    const detail = "rate limit exceeded for the minute window";
    expectProblem(answer, { title: "Too Many Requests", status: 429, detail });
    expect(answer.headers.get("retry-after")).toBe("43");
    expect(answer.headers.get("ratelimit")).toContain('"minute";r=0;t=43');
    expect(answer.headers.get("ratelimit-policy")).toContain('"minute";q=2;w=60');
    expect(await s.value()).toBe("second value");
  });

  test("other: 413 for a body that no valid update could need", async () => {
    await using s = await setup();
    const answer = await s.update(Buffer.alloc(97 * 1024 * 1024 + 1, " "));
    expectProblem(answer, { title: "Payload Too Large", status: 413, detail: expect.stringContaining("97 MB") });
    expect(answer.headers.has("ratelimit")).toBe(true);
  });

  test.each([["text/plain"], ["application/x-www-form-urlencoded"], ["application/jsonp"], ["multipart/form-data"]])(
    "other: 415 for %s",
    async (type) => {
      await using s = await setup();
      const answer = await s.update('{"value": "second value"}', { headers: { "content-type": type } });
      expectProblem(answer, { title: "Unsupported Media Type", status: 415, detail: expect.stringContaining(type) });
      expect(answer.headers.has("ratelimit")).toBe(true);
      expect(await s.value()).toBe("first value");
    },
  );

  test.each([["application/json"], ["Application/JSON; charset=utf-8"], ["application/merge-patch+json"]])(
    "%s is JSON",
    async (type) => {
      await using s = await setup();
      expect((await s.update('{"value": "x"}', { headers: { "content-type": type } })).status).toBe(200);
    },
  );

  test("both headers are omitted for a rate-limit-exempt caller, whatever the answer", async () => {
    await using s = await setup();
    const key = await s.world.newKey({ exempt: true });
    for (const [body, status] of [[{ value: "x" }, 200] as const, [{}, 422] as const, ["", 400] as const]) {
      const answer = await s.update(body, { key });
      expect(answer.status).toBe(status);
      expectNoRateLimit(answer);
    }
  });
});

function expectProblem(answer: Answer, body: object): void {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.json).toEqual(body);
  expect(answer.status).toBe(answer.json.status);
}

function expectNoRateLimit({ headers }: Answer): void {
  expect([headers.has("ratelimit"), headers.has("ratelimit-policy")]).toEqual([false, false]);
}

const windows = (header: string | null) => parseList(header ?? "").map(([name]) => name);
