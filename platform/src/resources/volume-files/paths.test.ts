/** What hostile paths, keys and accounts get at the files of a volume: nothing. */
import { describe, expect, test } from "vitest";
import { type FilesWorld, put, setupFiles as setup, upload } from "../../../tests/files-world.ts";

const WAYS_OUT = [
  ...["..", "../x", "a/../../x", "a/./b", "a//b", "/etc/passwd", "a/", "\0", "a\0b", "x".repeat(256), "/"],
  `${"a/".repeat(600)}b`,
];

describe("no path leads out of a volume, or to another account's", () => {
  test.each(WAYS_OUT)("%j is refused by every operation", async (path) => {
    await using world = await setup();
    world.files.write("a/b", "inside");
    const query = encodeURIComponent(path);
    const statuses = [
      await world.ask("GET", `?path=${query}`),
      await world.ask("GET", `/content?path=${query}`),
      await world.ask("PUT", `/content?path=${query}`, { body: "x" }),
      await world.ask("DELETE", `?path=${query}&recursive=true`),
      await world.ask("POST", "/folders", { body: { path } }),
      await world.ask("POST", "/move", { body: { from: path, to: "new" } }),
      await world.ask("POST", "/move", { body: { from: "a", to: path } }),
    ].map(({ status }) => status);
    expect(statuses).toEqual(Array(7).fill(422));
    expect(world.files.read("a/b")).toBe("inside");
  });

  test("what the server keeps on a volume for itself is neither seen nor touched", async () => {
    await using world = await setup();
    await put(world, "f", "x");
    for (const path of [".millrace-s3", ".millrace-s3/draft.x"]) {
      expect((await put(world, path, "x")).status).toBe(400);
      expect((await world.ask("POST", "/folders", { body: { path } })).status).toBe(400);
      expect((await world.ask("POST", "/move", { body: { from: "f", to: path } })).status).toBe(400);
      expect((await world.ask("DELETE", `?path=${path}&recursive=true`)).status).toBe(404);
    }
    expect((await world.ask("GET", "")).json.files).toMatchObject([{ name: "f" }]);
  });

  test("another account finds nothing, reads nothing and changes nothing", async () => {
    await using world = await setup();
    world.files.write("a/b", "mine");
    const key = await world.strangersKey();
    const answers = [
      await world.ask("GET", "?path=a", { key }),
      await world.ask("GET", "/content?path=a/b", { key }),
      await world.ask("PUT", "/content?path=a/b", { key, body: "theirs" }),
      await world.ask("DELETE", "?path=a&recursive=true", { key }),
      await world.ask("POST", "/folders", { key, body: { path: "x" } }),
      await world.ask("POST", "/move", { key, body: { from: "a", to: "b" } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(404));
    expect(answers.map(({ text }) => text).join()).not.toContain("mine");
    expect([world.files.read("a/b"), world.files.names("").includes("x")]).toEqual(["mine", false]);
  });

  test("a key that only reads volumes sees names and sizes; contents and changes take the right to write", async () => {
    await using world = await setup();
    world.files.write("a", "mine");
    const key = await world.newKey({ scopes: ["network-volumes:read"] });
    expect((await world.ask("GET", "", { key })).json.files).toMatchObject([{ name: "a", size: 4 }]);
    const answers = [
      await world.ask("GET", "/content?path=a", { key }),
      await world.ask("PUT", "/content?path=a", { key, body: "x" }),
      await world.ask("DELETE", "?path=a", { key }),
      await world.ask("POST", "/folders", { key, body: { path: "x" } }),
      await world.ask("POST", "/move", { key, body: { from: "a", to: "b" } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(403));
    expect((await world.ask("GET", "", { key: await world.newKey({ scopes: ["pods:write"] }) })).status).toBe(403);
  });

  test("an upload that is not allowed is refused before any of it is read", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["read-only"] });
    const { socket, answer } = upload({ ...world, key }, "f", 1000, "", "Expect: 100-continue\r\n");
    expect(await answer).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  });
});

describe("a link to a file", () => {
  const linkTo = async (world: FilesWorld, body: object, key = world.key) =>
    new URL((await world.ask("POST", "/links", { body, key })).json.url);
  const follow = (world: FilesWorld, { pathname, search }: URL, headers = {}) =>
    world.call("GET", pathname + search, { key: null, headers });

  test("is read without a key, as a download or a preview, in ranges, for five minutes", async () => {
    await using world = await setup();
    world.files.write("a/b.png", "0123456789");
    const link = await linkTo(world, { path: "a/b.png" });
    expect(link.origin).toBe("https://millrace.test");
    const { status, text, headers } = await follow(world, link);
    expect([status, text, headers.get("content-disposition")]).toEqual([
      200,
      "0123456789",
      expect.stringMatching(/^att/),
    ]);
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    const part = await follow(world, link, { range: "bytes=8-" });
    expect([part.status, part.text]).toEqual([206, "89"]);
    const shown = await follow(world, await linkTo(world, { path: "a/b.png", preview: true }));
    expect([shown.headers.get("content-type"), shown.headers.get("content-disposition")]).toEqual([
      "image/png",
      expect.stringMatching(/^inline/),
    ]);
    await world.pass(301);
    expect((await follow(world, link)).status).toBe(401);
  });

  test("opens what it was made for and nothing else, whatever is changed in it", async () => {
    await using world = await setup();
    for (const name of ["mine", "other"]) world.files.write(name, name);
    const link = await linkTo(world, { path: "mine" });
    const changed = (name: string, value: string) => {
      const other = new URL(link);
      other.searchParams.set(name, value);
      return other;
    };
    for (const wrong of [
      changed("path", "other"),
      changed("preview", "true"),
      changed("expires", String(world.clock.now() + 1e9)),
      changed("expires", "Infinity"),
      changed("key", "another"),
      changed("signature", "x".repeat(43)),
      changed("signature", ""),
      new URL(link.href.replace(world.volume, "thisisavolume1")),
      new URL(link.pathname, link),
    ])
      expect([wrong.search, (await follow(world, wrong)).status]).toEqual([wrong.search, 401]);
    expect((await follow(world, link)).text).toBe("mine");
  });

  test("ends with the key that it was made with, and takes the right to read contents", async () => {
    await using world = await setup();
    world.files.write("f", "x");
    const made = await world.call("POST", "/v2/account/api-keys", { body: { scopes: ["network-volumes:write"] } });
    const link = await linkTo(world, { path: "f" }, made.json.key);
    expect((await follow(world, link)).status).toBe(200);
    await world.call("DELETE", `/v2/account/api-keys/${made.json.id}`);
    expect((await follow(world, link)).status).toBe(401);
    const reader = await world.newKey({ scopes: ["network-volumes:read"] });
    expect((await world.ask("POST", "/links", { key: reader, body: { path: "f" } })).status).toBe(403);
  });

  test("is made for a file that is there alone", async () => {
    await using world = await setup();
    world.files.write("folder/f", "x");
    world.files.putOdd("link");
    for (const path of ["folder", "nothing", "link"])
      expect((await world.ask("POST", "/links", { body: { path } })).status).toBe(404);
  });
});
