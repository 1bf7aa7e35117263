/** Requests to a load-balancing endpoint: who may send them, where they go, and what comes back when all goes well. */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";
import { Authenticator } from "../../guards/authenticate.ts";

const UNKNOWN = "aaaaaaaaaaaaaa";
const WAIT_FOR_ANY_MS = 120_000;

/** Answers with what it was sent, including the body. */
const mirror: RequestListener = async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { method, url, headers } = request;
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ method, url, headers, body }));
};

const says =
  (text: string): RequestListener =>
  (_request, response) =>
    void response.end(text);

describe.each([["sockets"], ["streams"]] as const)("over %s", (over) => {
  test.each([
    ["GET", "/", undefined],
    ["POST", "/v1/chat?x=1&y=%2F", '{"a":1}'],
    ["PUT", "/run", "text"],
    ["PATCH", "//odd//path/", "x"],
    ["DELETE", "/status/7", undefined],
    ["OPTIONS", "/anything", undefined],
    ["PROPFIND", "/dav", "<x/>"],
    ["GET", "/job-take/w1", undefined],
    ["GET", "/ping/w1", undefined],
    ["POST", "/purge-queue", undefined],
  ])("%s %s reaches the worker as it is", async (method, path, body) => {
    await using world = await setupBalanced();
    world.worker("w1", mirror, { over });
    const { status, json } = await world.ask(method, path, body === undefined ? {} : { body });
    expect([status, json]).toEqual([200, expect.objectContaining({ method, url: path, body: body ?? "" })]);
  });

  test("the endpoint's bare address asks for '/'", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror, { over });
    expect((await world.ask("GET", "")).json.url).toBe("/");
  });

  test("a body in many pieces arrives whole, both ways", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (request, response) => void request.pipe(response), { over });
    const sent = Buffer.alloc(3_000_000, "0123456789");
    const { status, text } = await world.ask("POST", "/echo", { body: sent });
    expect([status, text.length, text === sent.toString()]).toEqual([200, sent.length, true]);
  });
});

test("a connection serves one request after another", async () => {
  await using world = await setupBalanced();
  const worker = world.worker("w1", mirror);
  for (let i = 0; i < 5; i++) expect((await world.ask("GET", "/x")).status).toBe(200);
  expect(worker.dialled).toBe(1);
});

describe("an answer", () => {
  test("comes with its status, its reason phrase, its headers and the worker's id", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (_request, response) => {
      response.writeHead(418, "Short and Stout", [
        ["X-Two", "1"],
        ["X-Two", "2"],
        ["X-Latin", "caf\u00e9"],
      ]);
      response.end("no coffee");
    });
    const response = await fetch(`${world.url}/v2/${world.endpoint}/`, { headers: { authorization: world.key } });
    expect([response.status, response.statusText]).toEqual([418, "Short and Stout"]);
    expect(response.headers.get("x-two")).toBe("1, 2");
    expect(response.headers.get("x-latin")).toBe("caf\u00e9");
    expect(response.headers.get("x-runpod-worker-id")).toBe("w1");
    expect(response.headers.get("x-millrace-worker-id")).toBe("w1");
    expect(await response.text()).toBe("no coffee");
  });

  test("to HEAD has a length and no body", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (_request, response) => void response.writeHead(200, { "content-length": 12 }).end());
    const { status, headers, text } = await world.ask("HEAD", "/file");
    expect([status, headers.get("content-length"), text]).toEqual([200, "12", ""]);
  });

  test("comes piece by piece as the worker writes it", async () => {
    await using world = await setupBalanced();
    const second = Promise.withResolvers<void>();
    world.worker("w1", async (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      await second.promise;
      response.end("data: 2\n\n");
    });
    const response = await fetch(`${world.url}/v2/${world.endpoint}/sse`, { headers: { authorization: world.key } });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe("data: 1\n\n");
    second.resolve();
    expect((await reader.read()).value).toBe("data: 2\n\n");
    expect((await reader.read()).done).toBe(true);
  });

  test("may begin before the request has ended", async () => {
    await using world = await setupBalanced();
    world.worker("w1", (request, response) => void request.pipe(response));
    const up = new TransformStream<Uint8Array, Uint8Array>();
    const writer = up.writable.getWriter();
    void writer.write(Buffer.from("first"));
    const response = await fetch(`${world.url}/v2/${world.endpoint}/duplex`, {
      method: "POST",
      headers: { authorization: world.key },
      body: up.readable,
      duplex: "half",
    } as RequestInit);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe("first");
    void writer.write(Buffer.from("second"));
    expect((await reader.read()).value).toBe("second");
    await writer.close();
    expect((await reader.read()).done).toBe(true);
  });

  test("a client that asks first is told to go on, once there is a worker", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror);
    const head = `POST /v2/${world.endpoint}/x HTTP/1.1\r\nHost: h\r\nAuthorization: ${world.key}\r\n`;
    const answer = await world.raw(`${head}Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi`);
    expect(answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n/);
    expect(answer).toContain('"body":"hi"');
  });
});

describe("what the worker sees", () => {
  test("the path's prefix and the sender, and nothing of the key", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror);
    const headers = { cookie: "__Host-millrace=s; theme=dark", "x-api-key": world.key };
    const { json } = await world.ask("GET", `/x?api_key=${world.key}&y=1`, { headers });
    expect(json.url).toBe("/x?y=1");
    expect(json.headers).toMatchObject({
      cookie: "theme=dark",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": new URL(world.url).host,
      "x-forwarded-prefix": `/v2/${world.endpoint}`,
    });
    expect(JSON.stringify(json)).not.toContain(world.key);
  });

  test("the Authorization header, when the endpoint's environment asks for it", async () => {
    await using world = await setupBalanced({ env: { MILLRACE_FORWARD_AUTH: "true" } });
    world.worker("w1", mirror);
    expect((await world.ask("GET", "/x")).json.headers.authorization).toBe(`Bearer ${world.key}`);
  });
});

describe("who may ask", () => {
  test.each([
    ["raw", (key: string) => key],
    ["as a bearer token", (key: string) => `Bearer ${key}`],
  ])("a key is taken %s", async (_how, header) => {
    await using world = await setupBalanced();
    world.worker("w1", says("here"));
    expect((await world.ask("GET", "/x", { key: null, headers: { authorization: header(world.key) } })).text).toBe(
      "here",
    );
  });

  test("401 without a key and with a wrong one; the worker hears of neither", async () => {
    await using world = await setupBalanced();
    const worker = world.worker("w1", mirror);
    const wrong: Record<string, string>[] = [{}, { authorization: `Bearer mlr_${"x".repeat(43)}` }];
    for (const headers of wrong) expect((await world.ask("GET", "/x", { key: null, headers })).status).toBe(401);
    expect(worker.dialled).toBe(0);
  });

  test("404 for another account's endpoint, in the words for one that is not there", async () => {
    await using world = await setupBalanced();
    const worker = world.worker("w1", mirror);
    const key = await world.strangersKey();
    const foreign = await world.ask("GET", "/x", { key });
    const unknown = await world.call("GET", `/v2/${UNKNOWN}/x`, { key });
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text]);
    expect(unknown.status).toBe(404);
    expect(worker.dialled).toBe(0);
  });

  test("403 without the scope, which is named, and for a key narrowed to other endpoints", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror);
    const weak = await world.ask("GET", "/x", { key: await world.newKey({ scopes: ["read-only"] }) });
    expect([weak.status, weak.json.error]).toEqual([403, "This API key lacks the scope 'serverless:invoke'."]);
    const narrowed = await world.ask("GET", "/x", { key: await world.newKey({ endpoints: [UNKNOWN] }) });
    expect(narrowed.status).toBe(403);
  });

  test("requests neither count against the rate limits nor carry their headers", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror);
    expect((await world.ask("GET", "/x")).headers.has("ratelimit")).toBe(false);
  });

  test("404 once the endpoint is deleted", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror);
    expect((await world.ask("GET", "/x")).status).toBe(200);
    await world.call("DELETE", `/v2/serverless/${world.endpoint}`);
    expect((await world.ask("GET", "/x")).status).toBe(404);
  });
});

describe("the host form", () => {
  const DOMAIN = "apps.millrace.test";
  const get = (host: string, path: string, key: string) =>
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;

  test("leads to the worker with every path, the API's own included, and keeps cookies", async () => {
    await using world = await setupBalanced({ domain: DOMAIN });
    world.worker("w1", ({ url }, response) => void response.setHeader("set-cookie", "a=1").end(`asked for ${url}`));
    const answer = await world.raw(get(`${world.endpoint}.${DOMAIN}:7420`, "/v2/serverless?x=1", world.key));
    expect(answer).toMatch(/^HTTP\/1.1 200 OK/);
    expect(answer).toContain("asked for /v2/serverless?x=1");
    expect(answer).toContain("Set-Cookie: a=1");
    expect(answer).not.toContain("sandbox");
  });

  test("401 without a key; 404 for an unknown endpoint", async () => {
    await using world = await setupBalanced({ domain: DOMAIN });
    expect(await world.raw(get(`${world.endpoint}.${DOMAIN}`, "/", "mlr_nothing_at_all"))).toMatch(/^HTTP\/1.1 401/);
    expect(await world.raw(get(`${UNKNOWN}.${DOMAIN}`, "/", world.key))).toMatch(/^HTTP\/1.1 404/);
  });

  test("400 'not allowed for QB API' for an endpoint with a queue", async () => {
    await using world = await setupBalanced({ domain: DOMAIN });
    const body = { name: "queue", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { id } = (await world.call("POST", "/v2/serverless", { body })).json;
    const answer = await world.raw(get(`${id}.${DOMAIN}`, "/run", world.key));
    expect(answer).toMatch(/^HTTP\/1.1 400/);
    expect(JSON.parse(answer.split("\r\n\r\n")[1]!)).toEqual({
      error: "not allowed for QB API",
      message: `not allowed for QB API: this endpoint has a queue; call it at /v2/${id}/run`,
    });
  });

  test("other hosts of the domain are the server's own", async () => {
    await using world = await setupBalanced({ domain: DOMAIN });
    expect(await world.raw(get(`console.${DOMAIN}`, "/v2/serverless", world.key))).toMatch(/^HTTP\/1.1 200/);
  });
});

describe("a hostile page in the path form", () => {
  test("can neither set nor read what belongs to the console", async () => {
    await using world = await setupBalanced();
    let seen = "";
    world.worker("w1", ({ headers }, response) => {
      seen = JSON.stringify(headers);
      response.writeHead(200, [
        ["Content-Type", "text/html"],
        ["Set-Cookie", "__Host-millrace=forged; Secure; Path=/"],
        ["Set-Cookie", "tossed=1; Path=/"],
        ["Clear-Site-Data", '"cookies", "storage"'],
        ["Service-Worker-Allowed", "/"],
        ["Content-Security-Policy", "default-src *"],
      ]);
      response.end("<script>fetch('/v2/account/api-keys', { credentials: 'include' })</script>");
    });
    const cookie = "__Host-millrace=the-session; other=1";
    const { headers } = await world.ask("GET", "/page", { headers: { cookie } });
    expect(headers.get("content-security-policy")).toBe("default-src *, sandbox allow-scripts allow-forms");
    expect(headers.getSetCookie()).toEqual([]);
    expect(headers.has("clear-site-data")).toBe(false);
    expect(headers.has("service-worker-allowed")).toBe(false);
    expect(seen).not.toContain("the-session");
    expect(seen).toContain("other=1");
  });

  test("an error page of its own is in the sandbox too", async () => {
    await using world = await setupBalanced();
    world.worker(
      "w1",
      (_request, response) => void response.writeHead(500, { "content-type": "text/html" }).end("<b>"),
    );
    const { status, headers } = await world.ask("GET", "/page");
    expect([status, headers.get("content-security-policy")]).toEqual([500, "sandbox allow-scripts allow-forms"]);
  });
});

test("a request in the path form is authenticated once, and its endpoint is found once", async () => {
  await using world = await setupBalanced();
  world.worker("w1", mirror);
  using keys = vi.spyOn(Authenticator.prototype, "key");
  using finds = vi.spyOn(world.services.endpoints, "knownForInvocation");
  expect((await world.ask("GET", "/x")).status).toBe(200);
  expect([keys.mock.calls.length, finds.mock.calls.length]).toEqual([1, 1]);
});

describe("from zero workers", () => {
  test("the first request waits for the worker that it calls for", async () => {
    await using world = await setupBalanced();
    const first = world.ask("POST", "/predict", { body: "x" });
    await world.clock.armed(WAIT_FOR_ANY_MS);
    expect(world.app.balancer.demand(world.endpoint).waiting).toBe(1);
    world.worker("w1", mirror, { ready: false });
    world.app.balancer.ready(world.endpoint, "w1");
    expect((await first).json).toMatchObject({ url: "/predict", body: "x" });
  });

  test("after 2 minutes it is told that there are no workers, and why", async () => {
    await using world = await setupBalanced();
    world.worker("w1", mirror, { ready: false });
    world.app.balancer.doubt(world.endpoint, "w1", "its health check is answered with 500");
    const first = world.ask("GET", "/x");
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world.clock.advance(WAIT_FOR_ANY_MS);
    const { status, json } = await first;
    expect([status, json]).toEqual([
      400,
      {
        error: "no workers available",
        message: "no worker was ready within 2 minutes: worker w1: its health check is answered with 500",
      },
    ]);
  });

  test("a client that gives up waits no longer", async () => {
    await using world = await setupBalanced();
    const client = world.begin("GET", "/x");
    await world.clock.armed(WAIT_FOR_ANY_MS);
    client.destroy();
    await world.clock.disarmed(WAIT_FOR_ANY_MS);
    expect(world.app.balancer.demand(world.endpoint).waiting).toBe(0);
  });

  test("the stop of the server ends the waiting with 503", async () => {
    const world = await setupBalanced();
    const first = world.ask("GET", "/x");
    await world.clock.armed(WAIT_FOR_ANY_MS);
    await world[Symbol.asyncDispose]();
    expect((await first).status).toBe(503);
    expect(world.clock.waiting).toBe(0);
  });
});

describe("the choice of a worker", () => {
  test("a slow worker does not slow the others", async () => {
    await using world = await setupBalanced();
    const slow = Promise.withResolvers<void>();
    world.worker("slow", async (_request, response) => {
      await slow.promise;
      response.end("slow");
    });
    world.worker("quick", says("quick"));
    const held = world.ask("GET", "/x");
    await once(world.app.http.server, "request");
    for (let i = 0; i < 10; i++) expect((await world.ask("GET", "/x")).text).toBe("quick");
    slow.resolve();
    expect((await held).text).toBe("slow");
  });

  test.each([["X-Runpod-Worker-Id"], ["X-Millrace-Worker-Id"]])("%s leads to the named worker", async (name) => {
    await using world = await setupBalanced();
    for (const id of ["w1", "w2", "w3"]) world.worker(id, says(id));
    const go = (value: string) => world.ask("GET", "/x", { headers: { [name]: value } });
    for (let i = 0; i < 3; i++) expect((await go("w2")).text).toBe("w2");
    for (let i = 0; i < 3; i++) expect((await go("strict w3")).text).toBe("w3");
    expect((await go("")).status).toBe(200);
  });

  test("404 affinity_worker_gone, 400 for a text that is none", async () => {
    await using world = await setupBalanced();
    world.worker("w1", says("w1"));
    const go = (value: string) => world.ask("GET", "/x", { headers: { "x-runpod-worker-id": value } });
    const gone = await go("strict w9");
    expect([gone.status, gone.json]).toEqual([
      404,
      { error: "affinity_worker_gone", message: "worker w9 is gone: there is no such worker" },
    ]);
    expect((await go("strict w 9")).status).toBe(400);
  });

  test("400 worker_timeout after 5 minutes", async () => {
    await using world = await setupBalanced();
    world.worker("w1", says("w1"), { ready: false });
    const asked = world.ask("GET", "/x", { headers: { "x-runpod-worker-id": "strict w1" } });
    await world.clock.armed(300_000);
    await world.clock.advance(300_000);
    const { status, json } = await asked;
    expect([status, json.error, json.message]).toEqual([
      400,
      "worker_timeout",
      "worker w1 was not ready within 5 minutes: it is starting",
    ]);
  });
});
