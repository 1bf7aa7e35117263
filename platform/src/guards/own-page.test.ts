/** Sessions and hostile pages: what other origins, other ports and other programs get by the session of whoever looks at them. */
import { describe, expect, test } from "vitest";
import { setupBalanced } from "../../tests/balanced-world.ts";
import { signedInOwner } from "../../tests/people.ts";
import { setup } from "../../tests/world.ts";

const SECRETS = "/v2/account/secrets";
const ME = "/v2/account/me";
const reasonOf = ({ status, headers }: { status: number; headers: Headers }) => [status, headers.get("x-reason-code")];

describe("a session is good on every surface", () => {
  test.each([
    ["GET", SECRETS, undefined],
    ["GET", "/v1/pods", undefined],
    ["POST", "/graphql", { query: "{ myself { id } }" }],
  ])("%s %s", async (method, path, body) => {
    await using world = await setup();
    const browser = await signedInOwner(world);
    const { status, json } = await browser.call(method, path, { body });
    expect([status, json.errors]).toEqual([200, undefined]);
  });

  test("and calls endpoints", async () => {
    await using world = await setup();
    const browser = await signedInOwner(world);
    const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { id } = (await browser.call("POST", "/v2/serverless", { body })).json;
    expect((await browser.call("POST", `/v2/${id}/run`, { body: { input: {} } })).json.status).toBe("IN_QUEUE");
  });

  test("and counts against the limits of the person", async () => {
    await using world = await setup({ rateLimits: "2,2,2" });
    const browser = await signedInOwner(world);
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await browser.call("GET", ME)).status);
    expect(statuses).toEqual([200, 200, 429]);
  });
});

describe("a page from elsewhere", () => {
  const origins = ["https://evil.test", "null", "http://127.0.0.1:1", "http://pod-8888.localhost"];

  test.each(origins)("of %s changes nothing and reads nothing", async (origin) => {
    await using world = await setup();
    const browser = await signedInOwner(world);
    for (const [method, path] of [
      ["POST", SECRETS],
      ["GET", SECRETS],
      ["DELETE", "/v2/account/sessions"],
      ["POST", "/v2/account/sign-out"],
    ] as const) {
      const answer = await browser.call(method, path, { headers: { origin } });
      expect([path, ...reasonOf(answer)]).toEqual([path, 403, "foreign-page"]);
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
    expect((await browser.call("GET", ME)).status).toBe(200);
  });

  test.each(["same-site", "cross-site"])("is known by what browsers say of a read: %s", async (site) => {
    await using world = await setup();
    const { origin: _, ...headers } = (await signedInOwner(world)).headers() as Record<string, string>;
    const answer = await world.call("GET", SECRETS, { key: null, headers: { ...headers, "sec-fetch-site": site } });
    expect(reasonOf(answer)).toEqual([403, "foreign-page"]);
  });

  test("a change that says no origin is refused", async () => {
    await using world = await setup();
    const { origin: _, ...headers } = (await signedInOwner(world)).headers() as Record<string, string>;
    const answer = await world.call("POST", SECRETS, { key: null, headers, body: { name: "s", value: "v" } });
    expect(reasonOf(answer)).toEqual([403, "foreign-page"]);
  });

  test("the address that MILLRACE_PUBLIC_URL names is the console's own", async () => {
    await using world = await setup({ publicUrl: "https://millrace.test" });
    const browser = await signedInOwner(world);
    const origin = "https://millrace.test";
    expect((await browser.call("POST", SECRETS, { headers: { origin }, body: { name: "s", value: "v" } })).status).toBe(
      201,
    );
  });
});

test("a program that got the cookie, as on another port of the same host, can do nothing with it", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  const { cookie, origin } = browser.headers() as Record<string, string>;
  for (const page of [{}, { "x-millrace-page": "A".repeat(43) }] as Record<string, string>[]) {
    const headers = { cookie: cookie!, origin: origin!, ...page };
    expect(reasonOf(await world.call("GET", SECRETS, { key: null, headers }))).toEqual([401, "page-token-missing"]);
  }
});

test("a key in the header counts alone, whatever cookie is beside it", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  expect((await browser.call("GET", ME, { key: world.key })).json.type).toBe("key");
  expect((await browser.call("GET", ME, { key: "mlr_no_such_key_at_all" })).status).toBe(401);
});

test("a worker that a person calls gets neither cookie nor page token, and its page is sandboxed", async () => {
  await using world = await setupBalanced();
  let heard: Record<string, unknown> = {};
  world.worker("balanced", (request, response) => {
    heard = request.headers;
    response.setHeader("set-cookie", "__Host-millrace-session=stolen; Path=/; Secure");
    response.end("hello");
  });
  const browser = await signedInOwner(world);
  const cookie = `${browser.cookie}; own=1`;
  const answer = await browser.call("GET", `/v2/${world.endpoint}/page`, { headers: { cookie } });
  expect([answer.status, answer.text]).toEqual([200, "hello"]);
  expect(answer.headers.get("content-security-policy")).toBe("sandbox allow-scripts allow-forms");
  expect(answer.headers.getSetCookie()).toEqual([]);
  expect(heard.cookie).toBe("own=1");
  expect(JSON.stringify(heard)).not.toContain(browser.pageToken);
});

test("terminals, event streams and links of Pods' ports are good for as long as the session that asked for them", async () => {
  await using world = await setup();
  const browser = await signedInOwner(world);
  const { id } = (await browser.call("GET", ME)).json.session;
  expect(await world.services.terminalTickets.isStanding(id)).toBe(true);
  await browser.call("POST", "/v2/account/sign-out");
  expect(await world.services.terminalTickets.isStanding(id)).toBe(false);
});
