/** Webhooks only go to public addresses, whatever their names are, and only the beginning of an answer is read. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { parseRanges } from "../../kernel/addresses.ts";
import { isPrivate } from "../machine/checked-lookup.ts";
import { createPost } from "./webhook-post.ts";

const strict = createPost({ allowPrivate: false, reachable: [] });
const local = createPost({ allowPrivate: false, reachable: parseRanges("127.0.0.0/8") });

async function target(answer: RequestListener) {
  const server = createServer(answer);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test.each([
  ...[
    "http://127.0.0.1",
    "http://127.1",
    "http://0x7f000001",
    "http://2130706433",
    "http://0177.0.0.1",
    "http://localhost",
  ],
  ...[
    "http://[::1]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "http://[64:ff9b::7f00:1]",
    "http://[2002:7f00:1::]",
  ],
  ...["http://100.64.0.1", "http://169.254.169.254/latest", "http://[fe80::1]", "https://10.0.0.1"],
])("%s is refused", async (url) => {
  await expect(strict(url, [Buffer.from("{}")], {})).rejects.toThrow("is not a public address; MILLRACE_REACHABLE");
});

test("the machine's own addresses are refused, public or not", () => {
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter(({ address }) => !isPrivate(address))).toEqual([]);
});

test("what the operator names is reached, and nothing beside it", async () => {
  await using server = await target((_, response) => response.writeHead(200).end("ok"));
  expect(await local(`http://127.0.0.1:${server.port}`, [Buffer.from("{}")], {})).toEqual({ status: 200 });
  await expect(local(`http://[::1]:${server.port}`, [Buffer.from("{}")], {})).rejects.toThrow("not a public address");
});

test("a redirect leads nowhere", async () => {
  let asked = 0;
  await using server = await target((_, response) => {
    asked++;
    response.writeHead(307, { location: "http://169.254.169.254/" }).end();
  });
  expect(await local(`http://127.0.0.1:${server.port}`, [Buffer.from("{}")], {})).toEqual({ status: 307 });
  expect(asked).toBe(1);
});

test("an answer without end is broken off, and what it began with counts", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await target((_, response) => {
    response.writeHead(200);
    response.on("close", closed.resolve).on("drain", write);
    function write() {
      while (!response.destroyed && response.write("x".repeat(10_000)));
    }
    write();
  });
  expect(await local(`http://127.0.0.1:${server.port}`, [Buffer.from("{}")], {})).toEqual({ status: 200 });
  await closed.promise;
});

test("a long body arrives whole, in whatever pieces it is given", async () => {
  const arrived = Promise.withResolvers<Buffer>();
  await using server = await target(async (request, response) => {
    arrived.resolve(await buffer(request));
    response.end();
  });
  const pieces = ["{", "ü".repeat(3_000_000), "}"].map((text) => Buffer.from(text));
  expect(await local(`http://127.0.0.1:${server.port}`, pieces, {})).toEqual({ status: 200 });
  expect((await arrived.promise).equals(Buffer.concat(pieces))).toBe(true);
});

test("a target that answers before it has read all of a long body has answered", async () => {
  await using server = await target((_, response) => response.writeHead(413, { connection: "close" }).end());
  const body = [Buffer.alloc(20_000_000, " ")];
  expect(await local(`http://127.0.0.1:${server.port}`, body, {})).toEqual({ status: 413 });
});
