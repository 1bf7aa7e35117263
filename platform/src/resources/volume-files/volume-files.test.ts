/** Files of network volumes over REST: what a browser lists, reads, uploads, moves and deletes, and what it cannot. */

import { describe, expect, test } from "vitest";
import { put, setupFiles as setup, upload } from "../../../tests/files-world.ts";
import { STALL_MS } from "../../surfaces/http/body.ts";

describe("a listing", () => {
  test("shows names, kinds, sizes and times, in the order of bytes", async () => {
    await using world = await setup();
    world.files.write("models/b.bin", "12345");
    world.files.write("models/a/x", "");
    world.files.write("top", "1");
    const { status, json } = await world.ask("GET", "?path=models");
    expect([status, json.pagination]).toEqual([200, { nextCursor: null, hasNextPage: false }]);
    expect(json.files).toMatchObject([
      { name: "a", path: "models/a", kind: "FOLDER", size: 0 },
      { name: "b.bin", path: "models/b.bin", kind: "FILE", size: 5, etag: expect.stringMatching(/^"\w+-1"$/) },
    ]);
    expect(Date.parse(json.files[1].modifiedAt)).toBe(world.clock.now());
    expect((await world.ask("GET", "")).json.files.map(({ name }: { name: string }) => name)).toEqual([
      "models",
      "top",
    ]);
  });

  test("comes in pages, whatever names programs choose", async () => {
    await using world = await setup();
    const names = ["a", "a.txt", "b/", `${"\u0001".repeat(254)}`, "z", "é", "😀", "quote\"'"];
    for (const name of names) world.files.write(name.endsWith("/") ? `${name}x` : name, "x");
    const seen: string[] = [];
    for (let cursor = ""; ; ) {
      const { status, json } = await world.ask("GET", `?limit=3${cursor}`);
      expect([status, json.files.length <= 3]).toEqual([200, true]);
      for (const { name, kind } of json.files) seen.push(kind === "FOLDER" ? `${name}/` : name);
      if (!json.pagination.hasNextPage) break;
      cursor = `&cursor=${json.pagination.nextCursor}`;
    }
    const inOrder = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(seen).toEqual(inOrder);
  });

  test("keeps to names that begin as asked, and a cursor to its own folder", async () => {
    await using world = await setup();
    for (const name of ["run-1", "run-2", "other"]) world.files.write(name, "x");
    const page = (await world.ask("GET", "?prefix=run-&limit=1")).json;
    expect(page.files).toMatchObject([{ name: "run-1" }]);
    const { nextCursor } = page.pagination;
    expect((await world.ask("GET", `?prefix=run-&limit=1&cursor=${nextCursor}`)).json.files).toMatchObject([
      { name: "run-2" },
    ]);
    expect((await world.ask("GET", `?cursor=${nextCursor}`)).status).toBe(422);
  });

  test("of what is no folder is 404, and a link is nothing", async () => {
    await using world = await setup();
    world.files.write("file", "x");
    world.files.putOdd("link");
    for (const path of ["nothing", "file", "link", ".millrace-s3"])
      expect([path, (await world.ask("GET", `?path=${path}`)).status]).toEqual([path, 404]);
    expect((await world.ask("GET", "")).json.files).toHaveLength(1);
  });
});

describe("a file that is read", () => {
  test("is a download that nothing runs in, with its name", async () => {
    await using world = await setup();
    world.files.write("a/page.html", "<script>alert(1)</script>");
    const { status, headers, text } = await world.get("a/page.html");
    expect([status, text]).toEqual([200, "<script>alert(1)</script>"]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="page.html"; filename*=UTF-8''page.html`,
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "private, no-cache",
      "content-length": "25",
    });
  });

  test.each([
    ["photo.PNG", "image/png"],
    ["photo.jpeg", "image/jpeg"],
    ["drawing.svg", "text/plain; charset=utf-8"],
    ["page.html", "text/plain; charset=utf-8"],
    ["script.js", "text/plain; charset=utf-8"],
    ["paper.pdf", "text/plain; charset=utf-8"],
    ["page.xhtml", "text/plain; charset=utf-8"],
    ["constructor", "text/plain; charset=utf-8"],
    ["x.constructor", "text/plain; charset=utf-8"],
    ["png", "text/plain; charset=utf-8"],
  ])("%s is previewed as %s, and is sandboxed either way", async (name, type) => {
    await using world = await setup();
    world.files.write(name, "contents");
    const { headers } = await world.get(name, "&preview=true");
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("content-disposition")).toMatch(/^inline; /);
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test.each([
    [`a"b\\c%.txt`, `filename="a_b_c_.txt"; filename*=UTF-8''a%22b%5Cc%25.txt`],
    ["naïve 😀.txt", `filename="na_ve __.txt"; filename*=UTF-8''na%C3%AFve%20%F0%9F%98%80.txt`],
    ["x\r\nSet-Cookie: a=b", `filename="x__Set-Cookie: a=b"; filename*=UTF-8''x%0D%0ASet-Cookie%3A%20a%3Db`],
  ])("%j says its name and nothing else", async (name, said) => {
    await using world = await setup();
    world.files.write(name, "x");
    const { headers, status } = await world.get(name);
    expect([status, headers.get("content-disposition"), headers.get("set-cookie")]).toEqual([
      200,
      `attachment; ${said}`,
      null,
    ]);
  });

  test("comes in ranges, and not again when it has not changed", async () => {
    await using world = await setup();
    world.files.write("f", "0123456789");
    const etag = (await world.get("f")).headers.get("etag")!;
    const part = await world.get("f", "", { range: "bytes=2-4" });
    expect([part.status, part.text, part.headers.get("content-range")]).toEqual([206, "234", "bytes 2-4/10"]);
    expect((await world.get("f", "", { range: "bytes=-3" })).text).toBe("789");
    expect((await world.get("f", "", { range: "bytes=8-100" })).text).toBe("89");
    const outside = await world.get("f", "", { range: "bytes=10-" });
    expect([outside.status, outside.headers.get("content-range")]).toEqual([416, "bytes */10"]);
    const same = await world.get("f", "", { "if-none-match": etag });
    expect([same.status, same.text]).toEqual([304, ""]);
    world.files.write("f", "abcdefghij");
    const resumed = await world.get("f", "", { range: "bytes=5-", "if-range": etag });
    expect([resumed.status, resumed.text]).toEqual([200, "abcdefghij"]);
    const head = await world.ask("HEAD", "/content?path=f");
    expect([head.status, head.text, head.headers.get("content-length")]).toEqual([200, "", "10"]);
  });

  test("may be empty", async () => {
    await using world = await setup();
    world.files.write("empty", "");
    const { status, text, headers } = await world.get("empty");
    expect([status, text, headers.get("content-length")]).toEqual([200, "", "0"]);
  });

  test("is 404 where there is none, and says so of a folder", async () => {
    await using world = await setup();
    world.files.write("folder/x", "");
    world.files.putOdd("link");
    expect((await world.get("folder")).json.detail).toContain("folder");
    for (const path of ["folder", "nothing", "link", ".millrace-s3/draft.x"])
      expect([path, (await world.get(path)).status]).toEqual([path, 404]);
  });

  test("nothing is held open when the client goes away in the middle, and nothing is logged as a fault", async () => {
    await using world = await setup();
    world.files.write("large", "x".repeat(20_000_000));
    const opened = world.files.open;
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    world.files.open = async (path) => {
      const file = await opened(path);
      return file && { ...file, [Symbol.asyncDispose]: async () => resolve() };
    };
    const gone = new AbortController();
    const response = await fetch(`${world.url}/v2/network-volumes/${world.volume}/files/content?path=large`, {
      headers: { authorization: `Bearer ${world.key}` },
      signal: gone.signal,
    });
    await response.body!.getReader().read();
    gone.abort();
    await closed;
    await world.settle();
    expect(world.logged.filter((line) => line.includes("unforeseen"))).toEqual([]);
  });
});

describe("a file that is uploaded", () => {
  test("is there whole, with its folders, and takes the place of the old one", async () => {
    await using world = await setup();
    const { status, json } = await put(world, "new/folder/f.txt", "hello");
    expect([status, json]).toMatchObject([201, { name: "f.txt", path: "new/folder/f.txt", kind: "FILE", size: 5 }]);
    expect(world.files.read("new/folder/f.txt")).toBe("hello");
    const again = await put(world, "new/folder/f.txt", "other");
    expect([again.status, again.json.etag === json.etag, world.files.read("new/folder/f.txt")]).toEqual([
      201,
      false,
      "other",
    ]);
    expect((await put(world, "empty", "")).json.size).toBe(0);
  });

  test("takes no place where something is, if it is told so", async () => {
    await using world = await setup();
    world.files.write("f", "before");
    expect((await put(world, "f", "after", "&ifAbsent=true")).status).toBe(409);
    expect((await put(world, "g", "new", "&ifAbsent=true")).status).toBe(201);
    expect(world.files.read("f")).toBe("before");
  });

  test.each(["folder", "folder/f/below", "odd/below"])("cannot be at %s", async (path) => {
    await using world = await setup();
    world.files.write("folder/f", "x");
    world.files.putOdd("odd");
    const { status, json } = await put(world, path, "y");
    expect([[400, 409].includes(status), typeof json.detail]).toEqual([true, "string"]);
    expect(world.files.read("folder/f")).toBe("x");
  });

  test("leaves nothing when the client goes away in the middle", async () => {
    await using world = await setup();
    const before = world.files.usedBytes;
    const { socket, answer } = upload(world, "half", 1000, "some of it");
    await world.settle();
    socket.destroy();
    await answer;
    await world.settle();
    expect(world.files.read("half")).toBeUndefined();
    expect([world.files.names(".millrace-s3"), world.files.usedBytes]).toEqual([[], before]);
    expect(world.logged.filter((line) => line.includes("unforeseen"))).toEqual([]);
  });

  test("leaves nothing when the client stops sending", async () => {
    await using world = await setup();
    const { socket, answer } = upload(world, "stalled", 1000, "some of it");
    await world.settle();
    // The door waits a moment for the body, and then hands the request on.
    await world.clock.advance(1000);
    await world.clock.armed(STALL_MS);
    await world.clock.advance(2 * STALL_MS);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
    expect(world.files.read("stalled")).toBeUndefined();
  });

  test("is refused by its length before it comes: too large for one request, or for the volume", async () => {
    await using world = await setup();
    for (const [length, status] of [
      [5 * 2 ** 30 + 1, 413],
      [99_999_999_999_999, 413],
    ] as const) {
      const { socket, answer } = upload(world, "huge", length, "", "Expect: 100-continue\r\n");
      expect(await answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      socket.destroy();
    }
    world.files.write("most", "x");
    Object.defineProperty(world.files, "usedBytes", { get: () => 10 * 2 ** 30 - 100 });
    const { socket, answer } = upload(world, "more", 101, "", "Expect: 100-continue\r\n");
    const text = await answer;
    expect(text).toMatch(/^HTTP\/1\.1 507 /);
    expect(text).toContain("The volume is full");
    expect(text.toLowerCase()).toContain("x-reason-code: no-room");
    socket.destroy();
    expect((await put(world, "fits", "x".repeat(100))).status).toBe(201);
  });

  test("says how long it is", async () => {
    await using world = await setup();
    const answer = await world.raw(
      `PUT /v2/network-volumes/${world.volume}/files/content?path=f HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${world.key}\r\n` +
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain("Content-Length");
  });
});

describe("folders, moves and deletions", () => {
  test("a folder is made once, and not over a file", async () => {
    await using world = await setup();
    const make = (path: string) => world.ask("POST", "/folders", { body: { path } });
    expect(await make("a/b")).toMatchObject({ status: 201, json: { path: "a/b", kind: "FOLDER" } });
    expect((await make("a/b")).status).toBe(201);
    world.files.write("a/f", "x");
    expect([(await make("a/f")).status, (await make("a/f/g")).status]).toEqual([409, 400]);
  });

  test("a file or folder moves, over nothing and not into itself", async () => {
    await using world = await setup();
    world.files.write("a/f", "x");
    world.files.write("b", "y");
    const move = (from: string, to: string) => world.ask("POST", "/move", { body: { from, to } });
    expect(await move("a/f", "c/d")).toMatchObject({ status: 200, json: { path: "c/d", size: 1 } });
    expect(await move("c", "e")).toMatchObject({ status: 200, json: { path: "e", kind: "FOLDER" } });
    expect([(await move("e", "b")).status, (await move("e", "e/d/x")).status, (await move("no", "x")).status]).toEqual([
      409, 400, 404,
    ]);
    expect([world.files.read("e/d"), world.files.read("b")]).toEqual(["x", "y"]);
  });

  test("a file goes, an empty folder goes, and a full one only with all that it holds", async () => {
    await using world = await setup();
    for (const name of ["a/f", "a/b/g", "a/b/h", "other"]) world.files.write(name, "x");
    const remove = (path: string, more = "") => world.ask("DELETE", `?path=${path}${more}`);
    expect(await remove("a/f")).toMatchObject({ status: 200, json: { removed: 1, isComplete: true } });
    expect((await remove("a/f")).status).toBe(404);
    expect(await remove("a")).toMatchObject({ status: 409, json: { detail: expect.stringContaining("recursive") } });
    expect((await remove("a", "&recursive=true")).json).toEqual({ removed: 4, isComplete: true });
    await world.ask("POST", "/folders", { body: { path: "empty" } });
    expect((await remove("empty")).json).toEqual({ removed: 1, isComplete: true });
    expect(world.files.names("").filter((name) => name !== ".millrace-s3")).toEqual(["other"]);
  });

  test("one call deletes so many and says that there are more", async () => {
    await using world = await setup();
    for (let n = 0; n < 10_005; n++) world.files.write(`many/${n}`, "");
    expect((await world.ask("DELETE", "?path=many&recursive=true")).json).toEqual({
      removed: 10_000,
      isComplete: false,
    });
    expect((await world.ask("DELETE", "?path=many&recursive=true")).json).toEqual({ removed: 6, isComplete: true });
  });
});

test("a volume that is not on this server's machines is 503, with where it is", async () => {
  await using world = await setup();
  const id = "thisisavolume1";
  const doc = { name: "away", size: 50, dataCenter: "EU-RO-1", type: "STANDARD" as const, machine: "elsewhere" };
  const record = { id, account: world.owner.account, createdAt: world.clock.now(), doc };
  await world.services.volumes.records.volumes.insert(record);
  const { status, json } = await world.call("GET", `/v2/network-volumes/${id}/files`);
  expect([status, json.detail]).toEqual([503, expect.stringContaining("machine elsewhere")]);
});

test("the ETag of a file is the one that S3 shows", async () => {
  await using world = await setup();
  const { etag } = (await put(world, "f", "x")).json;
  const facts = await world.files.find(["f"]);
  expect(etag).toBe(`"${facts!.tag}-1"`);
});
