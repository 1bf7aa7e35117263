/** An answer comes at the speed of its reader, whoever read the request. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect, test } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";
import { turn } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";

/** More than the buffers of two connections can hold, and less than an answer may have. */
const ANSWER = 28 * MIB;
const PIECE = Buffer.alloc(64 * 1024, "x");

async function writeAll(response: ServerResponse, wrote: (bytes: number) => void): Promise<void> {
  for (let sent = 0; sent < ANSWER; sent += PIECE.length) {
    const takesMore = response.write(PIECE);
    wrote(PIECE.length);
    if (!takesMore) await once(response, "drain");
  }
  response.end();
}

/** Resolves when a number has not grown for many turns. */
async function stopped(read: () => number): Promise<number> {
  for (let quiet = 0, before = -1; quiet < 200; quiet = read() === before ? quiet + 1 : 0) {
    before = read();
    await turn();
  }
  return read();
}

/** Counts what comes until the end of the answer. */
async function received(socket: Socket, ending: string): Promise<{ bytes: number; head: string }> {
  let bytes = 0;
  let [head, end] = ["", ""];
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => {
    if (bytes === 0) head = chunk.toString("latin1", 0, chunk.indexOf("\r\n\r\n") + 4);
    bytes += chunk.length;
    end = (end + chunk.toString("latin1", Math.max(0, chunk.length - ending.length))).slice(-ending.length);
    if (end === ending && bytes >= ANSWER) resolve();
  });
  socket.resume();
  await promise;
  return { bytes: bytes - head.length, head };
}

test.each([
  ["in chunks, after the plain door", [], {}],
  ["in chunks, after Node", ["TE: trailers"], {}],
  ["of a known length, after the plain door", [], { "Content-Length": String(ANSWER) }],
  ["of a known length, after Node", ["TE: trailers"], { "Content-Length": String(ANSWER) }],
])("an answer %s", async (_what, more, headers) => {
  await using world = await setupBalanced();
  let written = 0;
  world.worker("w", (_request, response) => {
    response.writeHead(200, headers);
    void writeAll(response, (bytes) => {
      written += bytes;
    });
  });
  const socket = world.begin("GET", "/x", more);
  socket.pause();
  while (written === 0) await turn();
  expect(await stopped(() => written)).toBeLessThan(ANSWER);
  const isChunked = !("Content-Length" in headers);
  const { bytes, head } = await received(socket, isChunked ? "0\r\n\r\n" : "xxxxx");
  expect(head).toContain(isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${ANSWER}`);
  if (isChunked) expect(bytes).toBeGreaterThan(ANSWER);
  else expect(bytes).toBe(ANSWER);
  socket.destroy();
});

test.each([
  ["the plain door", []],
  ["Node", ["TE: trailers"]],
])(
  "an answer of many chunks that came at once, after %s, holds up no other request and listens once",
  async (_who, more) => {
    await using world = await setupBalanced();
    const big = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${`100000\r\n${"x".repeat(MIB)}\r\n`.repeat(16)}0\r\n\r\n`;
    // A plain stream brings all of it in one piece.
    const worker = world.worker("w", () => {}, { over: "streams" });
    worker.server.removeAllListeners("connection").on("connection", (stream: Duplex) =>
      stream.on("data", (asked: Buffer) => {
        const isBig = asked.toString().startsWith("GET /big ");
        stream.write(isBig ? big : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      }),
    );
    const warned: Error[] = [];
    const warn = (warning: Error) => void warned.push(warning);
    process.on("warning", warn);
    const slow = world.begin("GET", "/big", more).pause();
    while (world.app.balancer.demand(world.endpoint).inFlight > 0 || worker.dialled === 0) await turn();
    expect((await world.ask("GET", "/other")).text).toBe("ok");
    expect([worker.dialled, warned]).toEqual([1, []]);
    process.off("warning", warn);
    slow.destroy();
  },
);
