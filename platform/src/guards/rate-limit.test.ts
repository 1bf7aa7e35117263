/** Rate limits as callers see them: three windows per user, in headers that a structured-fields parser can read. */
import { parseList } from "structured-headers";
import { describe, expect, test } from "vitest";
import { type Answer, setup } from "../../tests/world.ts";
import { parsePolicy } from "./rate-policy.ts";

const PATH = "/v2/account/ssh-keys";
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** `{ minute: { r: 599, t: 60 }, … }` */
function read(header: string | null): Record<string, Record<string, number>> {
  const members = parseList(header ?? "").map(([name, parameters]) => [name, Object.fromEntries(parameters)]);
  return Object.fromEntries(members);
}

const state = ({ headers }: Answer) => read(headers.get("ratelimit"));

test("every answer reports each window: what remains and when it resets, and the policy behind it", async () => {
  await using world = await setup({ rateLimits: "5,20,100" });
  await world.call("GET", PATH);
  await world.clock.advance(10_500);
  const { headers } = await world.call("GET", PATH);
  expect(read(headers.get("ratelimit"))).toEqual({
    minute: { r: 3, t: 50 },
    hour: { r: 18, t: 3590 },
    day: { r: 98, t: 86_390 },
  });
  expect(read(headers.get("ratelimit-policy"))).toEqual({
    minute: { q: 5, w: 60 },
    hour: { q: 20, w: 3600 },
    day: { q: 100, w: 86_400 },
  });
});

test("the headers are spelled as the specification shows them", async () => {
  await using world = await setup();
  const { headers } = await world.call("GET", PATH);
  expect(headers.get("ratelimit")).toBe('"minute";r=599;t=60, "hour";r=17999;t=3600, "day";r=199999;t=86400');
  expect(headers.get("ratelimit-policy")).toBe('"minute";q=600;w=60, "hour";q=18000;w=3600, "day";q=200000;w=86400');
});

describe("a window that is used up", () => {
  test.each([
    ["minute", "2,100,100", 60],
    ["hour", "100,2,100", 3600],
    ["day", "100,100,2", 86_400],
  ])("%s: refuses everything until it resets", async (window, rateLimits, seconds) => {
    await using world = await setup({ rateLimits });
    for (const _ of [1, 2]) expect((await world.call("GET", PATH)).status).toBe(200);
    const refused = await world.call("GET", PATH);
    expect([refused.status, refused.json.detail]).toEqual([429, `rate limit exceeded for the ${window} window`]);
    expect(refused.headers.get("retry-after")).toBe(String(seconds));
    expect(state(refused)[window]).toEqual({ r: 0, t: seconds });
    await world.clock.advance(seconds * 1000 - 1);
    const stillRefused = await world.call("GET", PATH);
    expect([stillRefused.status, stillRefused.headers.get("retry-after")]).toEqual([429, "1"]);
    await world.clock.advance(1);
    expect((await world.call("GET", PATH)).status).toBe(200);
  });

  test("of several, the one that resets last is named", async () => {
    await using world = await setup({ rateLimits: "2,2,100" });
    for (const _ of [1, 2]) await world.call("GET", PATH);
    const { json, headers } = await world.call("GET", PATH);
    expect([json.detail, headers.get("retry-after")]).toEqual(["rate limit exceeded for the hour window", "3600"]);
  });

  test("a refused request is not counted in any window", async () => {
    await using world = await setup({ rateLimits: "2,4,100" });
    for (const _ of [1, 2]) await world.call("GET", PATH);
    for (const _ of [1, 2, 3]) expect((await world.call("GET", PATH)).status).toBe(429);
    await world.clock.advance(MINUTE_MS);
    const next = await world.call("GET", PATH);
    expect([next.status, state(next).hour?.r, state(next).day?.r]).toEqual([200, 1, 97]);
  });

  test("a window begins with the first request in it, not with the clock's minute", async () => {
    await using world = await setup({ rateLimits: "1,100,100" });
    await world.clock.advance(59_000);
    await world.call("GET", PATH);
    await world.clock.advance(2000);
    expect((await world.call("GET", PATH)).headers.get("retry-after")).toBe("58");
  });

  test("a machine's clock that is set back does not lock anyone out", async () => {
    await using world = await setup({ rateLimits: "1,1,1" });
    await world.call("GET", PATH);
    world.clock.jump(-5 * HOUR_MS);
    expect((await world.call("GET", PATH)).status).toBe(200);
  });
});

describe("who is counted", () => {
  test("a user: all keys of one user share the windows", async () => {
    await using world = await setup({ rateLimits: "2,100,100" });
    const second = await world.newKey({ scopes: ["read-only"] });
    await world.call("GET", PATH);
    await world.call("GET", PATH, { key: second });
    expect((await world.call("GET", PATH)).status).toBe(429);
    expect((await world.call("GET", PATH, { key: second })).status).toBe(429);
  });

  test("another user has windows of their own", async () => {
    await using world = await setup({ rateLimits: "1,100,100" });
    const stranger = await world.newKey({ of: await world.services.accounts.create("stranger", "s@localhost") });
    await world.call("GET", PATH);
    expect((await world.call("GET", PATH)).status).toBe(429);
    expect((await world.call("GET", PATH, { key: stranger })).status).toBe(200);
  });

  test("an exempt key is neither counted nor refused nor shown the headers", async () => {
    await using world = await setup({ rateLimits: "1,1,1" });
    const exempt = await world.newKey({ exempt: true });
    for (const _ of [1, 2, 3]) {
      const { status, headers } = await world.call("GET", PATH, { key: exempt });
      expect([status, headers.has("ratelimit"), headers.has("ratelimit-policy")]).toEqual([200, false, false]);
    }
    expect((await world.call("GET", PATH)).status).toBe(200);
  });

  test("with limits off, everyone is exempt", async () => {
    await using world = await setup({ rateLimits: "off" });
    const { status, headers } = await world.call("GET", PATH);
    expect([status, headers.has("ratelimit")]).toEqual([200, false]);
  });

  test("an unauthenticated request is not counted", async () => {
    await using world = await setup({ rateLimits: "2,2,2" });
    for (const _ of [1, 2, 3]) await world.call("GET", PATH, { key: "mlr_0123456789abcdef" });
    expect(state(await world.call("GET", PATH)).minute).toEqual({ r: 1, t: 60 });
  });

  test("refusals of other kinds are counted", async () => {
    await using world = await setup({ rateLimits: "4,100,100" });
    await world.call("DELETE", PATH);
    await world.call("PUT", PATH, { body: "" });
    await world.call("GET", "/v2/account/nothing");
    expect(state(await world.call("GET", PATH)).minute?.r).toBe(0);
  });

  test("of many requests at once, exactly the quota is let through", async () => {
    await using world = await setup({ rateLimits: "10,100,100" });
    const answers = await Promise.all(Array.from({ length: 30 }, () => world.call("GET", PATH)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });
});

describe("MILLRACE_RATE_LIMITS", () => {
  test("is 'off' or three quotas", () => {
    expect(parsePolicy("off")).toBe("off");
    expect(parsePolicy("1, 2,3")).toEqual([
      { name: "minute", seconds: 60, quota: 1 },
      { name: "hour", seconds: 3600, quota: 2 },
      { name: "day", seconds: 86_400, quota: 3 },
    ]);
  });

  test.each([[""], ["1,2"], ["1,2,3,4"], ["0,1,1"], ["1,-1,1"], ["1,1.5,1"], ["on"]])("is not %j", (text) => {
    expect(() => parsePolicy(text)).toThrow(/three numbers for minute, hour and day/);
  });
});
