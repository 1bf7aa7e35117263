/** A person who opens the server's address in a browser sees a page, and programs never do. */
import { describe, expect, test } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { setup, type World } from "../../../tests/world.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

const open = (world: World, path: string, method = "GET") =>
  world.call(method, path, { key: null, headers: { accept: BROWSER } });

describe("in a browser", () => {
  test("the server's address says what this is, where its API is, and how to begin", async () => {
    await using world = await setup();
    const { status, headers, text } = await open(world, "/");
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text).toContain("<title>Millrace</title>");
    expect(text).toContain(manifest.version);
    expect(text).toContain('href="/docs"');
    expect(text).toContain('href="/v2/openapi.json"');
    expect(text).toContain("api=https://millrace.test/v2");
    expect(text).not.toContain("Nothing here");
  });

  test("without a public URL, the example names the address that was opened", async () => {
    await using world = await setup({ publicUrl: "" });
    const { text } = await open(world, "/");
    expect(text).toContain(`api=${world.url}/v2`);
    const evil = await world.raw(
      `GET / HTTP/1.1\r\nHost: x"><script>\r\nAccept: ${BROWSER}\r\nConnection: close\r\n\r\n`,
    );
    expect(evil).not.toContain("<script");
  });

  test("a path that is none says so", async () => {
    await using world = await setup();
    const { status, text } = await open(world, "/models/llama?x=1");
    expect(status).toBe(404);
    expect(text).toContain("Nothing here");
    expect(text).toContain("<code>/models/llama</code>");
    expect(text).toContain('href="/docs"');
  });

  test.each([
    ["/<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
    ["/'\"&amp;", "/&#39;&quot;&amp;amp;"],
  ])("%s is shown and not obeyed", async (path, shown) => {
    await using world = await setup();
    const answer = await world.raw(
      `GET ${path} HTTP/1.1\r\nHost: millrace\r\nAccept: ${BROWSER}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toContain(shown);
    expect(answer).not.toContain("<script");
  });

  test("a path of any length is shown in a line or two", async () => {
    await using world = await setup();
    const { text } = await open(world, `/${"x".repeat(10_000)}`);
    expect(text).toContain(`${"x".repeat(100)}…`);
    expect(text.length).toBeLessThan(6000);
  });

  test("the page runs nothing, loads nothing and can be put into no frame", async () => {
    await using world = await setup();
    const { headers, text } = await open(world, "/");
    const policy = headers.get("content-security-policy")!;
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    );
    expect([headers.get("x-content-type-options"), headers.get("referrer-policy")]).toEqual(["nosniff", "no-referrer"]);
    expect(headers.get("vary")).toBe("Accept");
    expect(text.replace(/data:[^"]*/, "")).not.toMatch(
      /<script|src=|style="|@import|url\(|https?:(?!\/\/millrace\.test)/,
    );
  });

  test("HEAD is answered like GET, without the page", async () => {
    await using world = await setup();
    const { status, text, headers } = await open(world, "/", "HEAD");
    expect([status, text, headers.get("content-type")]).toEqual([200, "", "text/html; charset=utf-8"]);
  });

  test("other methods, and paths of the API, are refused as ever", async () => {
    await using world = await setup();
    for (const [method, path] of [
      ["POST", "/"],
      ["GET", "/v2/serverless"],
      ["GET", "/v2/aaaaaaaaaaaaaa/health"],
    ] as const)
      expect((await open(world, path, method)).headers.get("content-type")).toContain("json");
  });
});

test.each([["*/*"], ["application/json"], ["application/json, text/html;q=0.5"], ["text/html;q=0, */*"], [""]])(
  "a program with Accept: %s gets a problem, as ever",
  async (accept) => {
    await using world = await setup();
    for (const path of ["/", "/nothing"]) {
      const headers = { accept };
      expect((await world.call("GET", path, { key: null, headers })).status).toBe(401);
      const { status, json } = await world.call("GET", path, { headers });
      expect([status, json.detail]).toEqual([404, "The requested path was not found."]);
    }
  },
);
