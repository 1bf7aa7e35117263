/** The console as a browser loads it: which files, at which paths, cached for how long, and with which headers. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { setup, type WorldOptions } from "../../../tests/world.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

const BUILT = {
  "index.html": "<!doctype html><title>Console</title><script type=module src=/assets/index-B7x_kQ2p.js></script>",
  "favicon.svg": "<svg/>",
  "assets/index-B7x_kQ2p.js": "console.log('as it is')",
  "assets/index-B7x_kQ2p.js.br": "as brotli",
  "assets/index-B7x_kQ2p.js.gz": "as gzip",
  "assets/index-B7x_kQ2p.js.map": "{}",
  "assets/index-B7x_kQ2p.js.map.br": "{}",
  "assets/page-00aa11bb.css": "body{}",
  "assets/plain.txt": "no hash",
  "assets/inter-latin-d41d8cd9.woff2": "a font",
  "assets/archive-00aa11bb.gz": "no form of another file",
};

/** A server with a console that was built into a folder of its own. */
async function world(built: Record<string, string> = BUILT, options: WorldOptions = {}) {
  await using opened = new AsyncDisposableStack();
  const around = await mkdtemp(join(tmpdir(), "millrace-console-"));
  opened.defer(() => rm(around, { recursive: true }));
  const folder = join(around, "dist");
  for (const [name, text] of Object.entries(built)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await writeFile(join(around, "secret.txt"), "outside");
  const server = opened.use(await setup({ consoleFolder: folder, ...options }));
  const kept = opened.move();
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    server.call(method, path, { key: null, headers: { accept: BROWSER, "accept-encoding": "identity", ...headers } });
  return { ...server, folder, get, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

describe("the documentation", () => {
  const DOCS = { "docs/index.html": "all pages", "docs/jobs.html": "jobs", "docs/clients/index.html": "clients" };

  test.each([
    ["/docs", "all pages"],
    ["/docs/", "all pages"],
    ["/docs/jobs", "jobs"],
    ["/docs/clients/", "clients"],
    ["/docs/clients", "clients"],
  ])("is at %s, for programs too", async (path, text) => {
    await using server = await world({ ...BUILT, ...DOCS });
    for (const accept of [BROWSER, "*/*"]) {
      const page = await server.get(path, { accept });
      expect([page.status, page.headers.get("content-type"), page.text]).toEqual([
        200,
        "text/html; charset=utf-8",
        text,
      ]);
      expect(page.headers.get("cache-control")).toBe("no-cache");
    }
  });

  test("has no page of that name", async () => {
    await using server = await world({ ...BUILT, ...DOCS });
    const { status, json } = await server.get("/docs/nothing");
    expect([status, json.detail]).toEqual([404, "The documentation has no such page: see /docs/."]);
  });
});

describe("the page", () => {
  test.each(["/", "/serverless", "/serverless/abc/jobs?status=FAILED", "/v2volumes", "/index.html"])(
    "is at %s, which nothing else has",
    async (path) => {
      await using server = await world();
      const { status, headers, text } = await server.get(path);
      expect([status, headers.get("content-type"), text]).toEqual([
        200,
        "text/html; charset=utf-8",
        BUILT["index.html"],
      ]);
      expect(headers.get("cache-control")).toBe("no-store");
    },
  );

  test("runs no script and no style but those of its own files, and is in nobody's frame", async () => {
    await using server = await world();
    const { headers } = await server.get("/");
    const host = new URL(server.url).host;
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " +
        `connect-src 'self' ws://${host} wss://${host}; manifest-src 'self'; worker-src 'self'; ` +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    );
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("permissions-policy")).toContain("camera=()");
    expect(headers.get("vary")).toBe("Accept, Accept-Encoding");
  });

  test("names no host that is none", async () => {
    await using server = await world();
    for (const host of ["x; script-src *", "a b", "[::1]:7420", "é"]) {
      const answer = await server.raw(
        `GET / HTTP/1.1\r\nHost: ${host}\r\nAccept: ${BROWSER}\r\nConnection: close\r\n\r\n`,
      );
      if (answer.startsWith("HTTP/1.1 200")) expect(answer).toContain("connect-src 'self'; ");
      expect(answer).not.toContain("script-src *");
    }
  });

  test("is not for other methods, nor where another surface is", async () => {
    await using server = await world();
    expect((await server.get("/", {}, "POST")).headers.get("content-type")).toContain("json");
    for (const path of ["/v2/nothing/at/all", "/v1/nothing", "/v2/serverless", "/s3/volume", "/v2", "/v1"])
      expect((await server.get(path)).text, path).not.toContain("<title>Console");
    expect((await server.get("/graphql")).text).not.toContain("<title>Console");
  });

  test.each([["*/*"], ["application/json"], ["text/html;q=0, */*"], [""]])(
    "a program with Accept: %s gets a problem, as without a console",
    async (accept) => {
      await using server = await world();
      for (const path of ["/", "/serverless/abc"]) {
        expect((await server.get(path, { accept })).status).toBe(401);
        const { status, json } = await server.call("GET", path, { headers: { accept } });
        expect([status, json.detail]).toEqual([404, "The requested path was not found."]);
      }
    },
  );

  test("HEAD is answered like GET, without the page", async () => {
    await using server = await world();
    const { status, text, headers } = await server.get("/pods", {}, "HEAD");
    expect([status, text, headers.get("content-length")]).toEqual([200, "", String(BUILT["index.html"].length)]);
  });

  test("while there is no whole build yet, a page says so and looks again, and then the console is there without a restart", async () => {
    const unfinished: Record<string, string>[] = [{}, { "assets/index-B7x_kQ2p.js": "half of a build" }];
    for (const built of unfinished) {
      await using server = await world(built);
      for (const path of ["/", "/serverless/abc"]) {
        const { status, headers, text } = await server.get(path);
        expect([status, headers.get("cache-control")]).toEqual([503, "no-store"]);
        expect(text).toContain('http-equiv="refresh"');
      }
      expect((await server.get("/v2/nothing/at/all")).status).toBe(401);
      await mkdir(server.folder, { recursive: true });
      await writeFile(join(server.folder, "index.html"), BUILT["index.html"]);
      expect((await server.get("/serverless/abc")).text).toBe(BUILT["index.html"]);
    }
  });

  test("what was built anew after the first page is shown to whoever loads a page then", async () => {
    await using server = await world();
    expect((await server.get("/serverless/abc")).text).toBe(BUILT["index.html"]);
    await rename(server.folder, `${server.folder}.old`);
    expect((await server.get("/serverless/abc")).text).toBe(BUILT["index.html"]);
    await mkdir(join(server.folder, "assets"), { recursive: true });
    await writeFile(join(server.folder, "assets/index-N3wN3wN3.js"), "console.log('new')");
    await writeFile(join(server.folder, "index.html"), "the new page");
    expect((await server.get("/serverless/abc")).text).toBe("the new page");
    expect((await server.get("/assets/index-N3wN3wN3.js", { accept: "*/*" })).text).toBe("console.log('new')");
  });

  test("a folder that cannot be read is logged, and hides nothing else", async () => {
    await using server = await world({}, { consoleFolder: "/proc/self/mem/dist\0" });
    const { status, text } = await server.get("/");
    expect([status, text.includes('href="/v2/openapi.json"')]).toEqual([503, true]);
    expect(server.logged.join()).toContain("the files of the console cannot be read");
  });
});

describe("its files", () => {
  test.each([
    ["/assets/index-B7x_kQ2p.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"],
    ["/assets/page-00aa11bb.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"],
    ["/assets/inter-latin-d41d8cd9.woff2", "font/woff2", "public, max-age=31536000, immutable"],
    ["/assets/archive-00aa11bb.gz", "application/octet-stream", "public, max-age=31536000, immutable"],
    ["/assets/plain.txt", "text/plain; charset=utf-8", "no-cache"],
    ["/favicon.svg", "image/svg+xml", "no-cache"],
  ])("%s has its type, and is kept for as long as its name stands for its contents", async (path, type, cached) => {
    await using server = await world();
    const { status, headers, text } = await server.get(path, { accept: "*/*" });
    expect([status, headers.get("content-type"), headers.get("cache-control")]).toEqual([200, type, cached]);
    expect(text).toBe(BUILT[path.slice(1) as keyof typeof BUILT]);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test.each([
    ["gzip, deflate, br, zstd", "br", "as brotli"],
    ["gzip", "gzip", "as gzip"],
    ["br;q=0, gzip;q=0.5", "gzip", "as gzip"],
    ["identity", undefined, BUILT["assets/index-B7x_kQ2p.js"]],
    ["identity;q=0, zstd", undefined, BUILT["assets/index-B7x_kQ2p.js"]],
  ])("who takes %s gets what was compressed ahead", async (accepted, encoding, body) => {
    await using server = await world();
    const answer = await server.raw(
      `GET /assets/index-B7x_kQ2p.js HTTP/1.1\r\nHost: millrace\r\nAccept-Encoding: ${accepted}\r\nConnection: close\r\n\r\n`,
    );
    expect(/content-encoding: (\w+)/i.exec(answer)?.[1]).toBe(encoding);
    expect(answer.endsWith(`\r\n\r\n${body}`)).toBe(true);
    expect(answer).toMatch(/vary: .*accept-encoding/i);
  });

  test("a file that has not changed is not sent again, each form by a tag of its own", async () => {
    await using server = await world();
    const { headers } = await server.get("/assets/plain.txt");
    const etag = headers.get("etag")!;
    const again = await server.get("/assets/plain.txt", { "if-none-match": `"other", W/${etag}` });
    expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", etag]);
    expect((await server.get("/assets/plain.txt", { "if-none-match": '"other"' })).status).toBe(200);
    const forms = await Promise.all(
      ["identity", "gzip"].map((encoding) =>
        server.get("/assets/index-B7x_kQ2p.js", { "accept-encoding": encoding }, "HEAD"),
      ),
    );
    expect(forms[0]!.headers.get("etag")).not.toBe(forms[1]!.headers.get("etag"));
  });

  test.each([
    "/assets/none-00000000.js",
    "/assets/",
    "/assets/index-B7x_kQ2p.js.map",
    "/assets/index-B7x_kQ2p.js.map.br",
    "/assets/index-B7x_kQ2p.js.br",
    "/assets/../index.html",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/%2e%2e/secret.txt",
    "/assets//index-B7x_kQ2p.js",
    "/assets/link.txt",
    "/assets/linked/secret.txt",
  ])("%s is none of them: 404, and no page in its place", async (path) => {
    await using server = await world();
    await symlink(join(server.folder, "../secret.txt"), join(server.folder, "assets/link.txt"));
    await symlink(join(server.folder, ".."), join(server.folder, "assets/linked"));
    const answer = await server.raw(
      `GET ${path} HTTP/1.1\r\nHost: millrace\r\nAccept: ${BROWSER}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toContain("application/problem+json");
    expect(answer).not.toContain("outside");
  });

  test.each(["/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/secret.txt", "//secret.txt"])(
    "%s leads to nothing outside of the folder",
    async (path) => {
      await using server = await world();
      const answer = await server.raw(
        `GET ${path} HTTP/1.1\r\nHost: millrace\r\nAccept: */*\r\nConnection: close\r\n\r\n`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 4/);
      expect(answer).not.toContain("outside");
    },
  );

  test("they are what was there when the first was asked for, whatever becomes of the folder", async () => {
    await using server = await world();
    await server.get("/");
    await rm(server.folder, { recursive: true });
    expect((await server.get("/assets/plain.txt")).text).toBe("no hash");
    expect((await server.get("/pods")).text).toBe(BUILT["index.html"]);
  });
});
