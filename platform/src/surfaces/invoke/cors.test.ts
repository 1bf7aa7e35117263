/** Pages of other origins that call endpoints: which ones may, what their browsers are told, and that no one else is told anything. */
import { describe, expect, test } from "vitest";
import { type BalancedWorld, setupBalanced } from "../../../tests/balanced-world.ts";
import { setupJobs } from "../../../tests/job-world.ts";
import { setup } from "../../../tests/world.ts";
import { parseOrigins } from "../../kernel/origins.ts";

const APP = "https://app.example.com";
const OTHER = "https://evil.example.net";
const UNKNOWN = "aaaaaaaaaaaaaa";
const corsOrigins = `${APP}, http://localhost:3000`;

const preflight = (origin: string, headers: Record<string, string> = {}) => ({
  key: null,
  headers: { origin, "access-control-request-method": "POST", ...headers },
});

const corsIn = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("a preflight", () => {
  test("of an allowed origin is answered without a key: what may be sent, and for how long this holds", async () => {
    await using world = await setupJobs({ corsOrigins });
    const asked = preflight(APP, { "access-control-request-headers": "authorization,content-type,x-stainless-lang" });
    const { status, headers, text } = await world.invoke("OPTIONS", "/run", asked);
    expect([status, text]).toEqual([204, ""]);
    expect(headers.get("access-control-allow-origin")).toBe(APP);
    expect(headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST, PUT, PATCH, DELETE");
    expect(headers.get("access-control-allow-headers")).toBe("authorization,content-type,x-stainless-lang");
    expect(headers.get("access-control-max-age")).toBe("7200");
    expect(headers.get("vary")).toBe("Origin, Access-Control-Request-Headers");
    expect(headers.has("access-control-allow-credentials")).toBe(false);
  });

  test("is answered alike whether or not there is such an endpoint, a path or a job", async () => {
    await using world = await setupJobs({ corsOrigins });
    for (const path of [`/v2/${world.endpoint}/status/x`, `/v2/${UNKNOWN}/run`, `/v2/${UNKNOWN}`, `/v2//x//y?z=1`])
      expect((await world.call("OPTIONS", path, preflight(APP))).status).toBe(204);
  });

  test.each([
    ["of another origin", OTHER, {}],
    ["of an origin that only begins like an allowed one", `${APP}.evil.net`, {}],
    ["of a page without an origin", "null", {}],
  ])("%s is refused like any request without a key, and told nothing", async (_whose, origin, headers) => {
    await using world = await setupJobs({ corsOrigins });
    const answer = await world.invoke("OPTIONS", "/run", preflight(origin, headers));
    expect([answer.status, corsIn(answer.headers)]).toEqual([401, []]);
    expect(answer.headers.get("vary")).toBe("Origin");
  });

  test("for header names that are none gets leave for no header", async () => {
    await using world = await setupJobs({ corsOrigins });
    const { headers } = await world.invoke(
      "OPTIONS",
      "/run",
      preflight(APP, { "access-control-request-headers": "a b" }),
    );
    expect(headers.has("access-control-allow-headers")).toBe(false);
  });

  test("is not what every OPTIONS is", async () => {
    await using world = await setupJobs({ corsOrigins });
    expect((await world.invoke("OPTIONS", "/run", { headers: { origin: APP } })).status).toBe(405);
  });

  test("of a path of REST v2 is refused as ever", async () => {
    await using world = await setup({ corsOrigins });
    for (const path of ["/v2/serverless", "/v2/account/secrets", "/docs", "/"]) {
      const { headers, status } = await world.call("OPTIONS", path, preflight(APP));
      expect([path, status >= 400, corsIn(headers)]).toEqual([path, true, []]);
    }
  });
});

describe("every answer to an allowed origin says that its page may read it:", () => {
  test("success, and which of its headers", async () => {
    await using world = await setupJobs({ corsOrigins });
    const { status, headers } = await world.invoke("POST", "/run", { body: { input: {} }, headers: { origin: APP } });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, APP]);
    const exposed = headers.get("access-control-expose-headers")!.split(", ");
    expect(exposed).toEqual(expect.arrayContaining(["X-Job-Id", "X-Job-Status", "X-Request-Id", "Retry-After"]));
    expect(headers.get("vary")).toBe("Origin");
  });

  test.each([
    [401, "GET", "/health", { key: null }],
    [404, "GET", "/status/none", {}],
    [404, "GET", "/nothing/like/this", {}],
    [405, "PUT", "/run", {}],
    [413, "POST", "/run", { body: "x".repeat(1024 * 1024 + 1) }],
  ])("a refusal, %i", async (status, method, path, options) => {
    await using world = await setupJobs({ corsOrigins, payloadLimits: "1,1,1" });
    const answer = await world.invoke(method, path, { ...options, headers: { origin: APP } });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([status, APP]);
  });

  test("server-sent events", async () => {
    await using world = await setupJobs({ corsOrigins });
    const job = await world.submit();
    await world.invoke("POST", `/cancel/${job}`);
    const headers = { origin: APP, accept: "text/event-stream" };
    const answer = await world.invoke("GET", `/stream/${job}`, { headers });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
  });

  test("a streamed answer of the OpenAI route", async () => {
    await using world = await setupJobs({ corsOrigins });
    const worker = await world.worker();
    const taken = worker.take();
    const headers = { origin: APP };
    const asked = world.invoke("POST", "/openai/v1/chat", { body: { stream: true }, headers });
    await worker.done((await taken)!.id, { output: [] });
    const answer = await asked;
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
  });

  test("a /runsync whose headers leave before its end", async () => {
    await using world = await setupJobs({ corsOrigins });
    const asked = world.invoke("POST", "/runsync?wait=1000", { body: { input: {} }, headers: { origin: APP } });
    await world.clock.armed(100);
    await world.clock.advance(1000);
    expect((await asked).headers.get("access-control-allow-origin")).toBe(APP);
  });
});

test("an answer to another origin, or to none, says nothing but that it depends on the origin", async () => {
  await using world = await setupJobs({ corsOrigins });
  for (const headers of [{ origin: OTHER }, {}] as Record<string, string>[]) {
    const answer = await world.invoke("GET", "/health", { headers });
    expect([answer.status, corsIn(answer.headers), answer.headers.get("vary")]).toEqual([200, [], "Origin"]);
  }
});

test("without the setting nothing is said to any origin", async () => {
  await using world = await setupJobs();
  const answers = [
    await world.invoke("OPTIONS", "/run", preflight(APP)),
    await world.invoke("GET", "/health", { headers: { origin: APP } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 200]);
  for (const { headers } of answers) expect([corsIn(headers), headers.has("vary")]).toEqual([[], false]);
});

test("'*' allows every origin, in the same words for all", async () => {
  await using world = await setupJobs({ corsOrigins: "*" });
  const { headers } = await world.invoke("GET", "/health", { headers: { origin: "null" } });
  expect([headers.get("access-control-allow-origin"), headers.has("vary")]).toEqual(["*", false]);
  expect((await world.invoke("OPTIONS", "/run", preflight(OTHER))).headers.get("access-control-allow-origin")).toBe(
    "*",
  );
});

describe("a load-balancing endpoint", () => {
  const asking = (world: BalancedWorld, origin: string) => world.ask("GET", "/x", { headers: { origin } });

  test("whose worker says nothing of origins is readable to those allowed here", async () => {
    await using world = await setupBalanced({ corsOrigins });
    world.worker("w1", (_request, response) => void response.writeHead(200, { vary: "Accept" }).end("x"));
    const { headers } = await asking(world, APP);
    expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual([APP, "Accept, Origin"]);
    expect(corsIn((await asking(world, OTHER)).headers)).toEqual([]);
  });

  test("whose worker has its own rule keeps it, untouched", async () => {
    await using world = await setupBalanced({ corsOrigins });
    const own = { "access-control-allow-origin": "*", "access-control-expose-headers": "X-Mine" };
    world.worker("w1", (_request, response) => void response.writeHead(200, own).end("x"));
    const { headers } = await asking(world, APP);
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.get("access-control-expose-headers")).toBe("X-Mine");
  });

  test("gets its preflights answered, under the path and under a host of its own: its worker would never see one", async () => {
    await using world = await setupBalanced({ corsOrigins, domain: "lb.test" });
    expect((await world.ask("OPTIONS", "/x", preflight(APP))).status).toBe(204);
    const answer = await world.raw(
      `OPTIONS /x HTTP/1.1\r\nHost: ${world.endpoint}.lb.test\r\nOrigin: ${APP}\r\nAccess-Control-Request-Method: GET\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 204 /);
  });
});

describe("MILLRACE_CORS_ORIGINS", () => {
  test("is a list of origins, in the form in which browsers send them, or '*'", () => {
    expect(parseOrigins("*")).toBe("*");
    expect(parseOrigins("HTTPS://App.example.com/, http://localhost:80,tauri://localhost")).toEqual(
      new Set(["https://app.example.com", "http://localhost", "tauri://localhost"]),
    );
  });

  test.each([["app.example.com"], ["https://a.b/path"], ["https://*.b"], ["a,*"], ["null"], [","]])(
    "is not %j",
    (text) => {
      expect(() => parseOrigins(text)).toThrow(/^must be '\*' or a comma separated list of origins/);
    },
  );
});
