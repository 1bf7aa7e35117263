/** A body is read whole in whatever pieces it arrives, and a body that breaks off keeps no one waiting. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { BodyMemory, MEMORY_WAIT_MS } from "../../kernel/body-memory.ts";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { readBody, STALL_MS, waitsForContinue } from "./body.ts";
import { RequestMemory } from "./request-memory.ts";

const LIMIT = 100_000;

/** A server that reads bodies as the pipeline does, and a client's bare connection to it. */
async function setup({ came = () => {} }: { came?: (request: IncomingMessage) => void } = {}) {
  const clock = new FakeClock();
  const memory = new BodyMemory({ bytes: 3 * LIMIT, clock });
  const bodies: Promise<Buffer>[] = [];
  const server = createServer((request, response) => {
    const ofRequest = new RequestMemory(memory, "sender", response);
    const body = readBody(request, response, { limit: LIMIT, clock, memory: ofRequest }).finally(() =>
      ofRequest[Symbol.dispose](),
    );
    bodies.push(body);
    came(request);
    body.then(
      (bytes) => response.end(bytes),
      () => response.destroy(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const connected = once(server, "connection") as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [there] = await connected;
  server.on("checkContinue", (request, response) => {
    waitsForContinue.add(request);
    server.emit("request", request, response);
  });
  return {
    clock,
    memory,
    socket,
    there,
    /** Resolves when the server has received this piece, so that the next one arrives separately. */
    async send(piece: string): Promise<void> {
      socket.write(piece);
      while (there.bytesRead < socket.bytesWritten) await turn();
    },
    async firstBody(): Promise<Buffer> {
      while (bodies.length === 0) await turn();
      return bodies[0]!;
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const head = (length: number) => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

const LONG = "x".repeat(LIMIT);

test.each<[how: string, whole: string, ...pieces: string[]]>([
  ["with its headers", "hello", `${head(5)}hello`],
  ["after its headers", "hello", head(5), "hello"],
  ["in pieces", "hello", `${head(5)}h`, "ell", "o"],
  [
    "in chunks",
    "hello",
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
  ],
  ["too long for one packet", LONG, `${head(LIMIT)}${LONG}`],
  ["as nothing", "", head(0)],
])("a body that comes %s is read whole", async (_how, whole, ...pieces) => {
  await using world = await setup();
  for (const piece of pieces) {
    await world.send(piece);
  }
  expect((await world.firstBody()).toString()).toBe(whole);
});

test.each([
  ["before any of it has come", head(5)],
  ["in the middle", `${head(5)}he`],
])("a client that hangs up %s keeps nobody waiting", async (_when, sent) => {
  await using world = await setup();
  world.socket.write(sent);
  const body = world.firstBody();
  world.socket.end();
  await expect(body).rejects.toMatchObject({ detail: "The request body ended before its announced length." });
});

test("nor does one whose line breaks in the very turn in which the request came", async () => {
  await using world = await setup({ came: (request) => request.destroy() });
  world.socket.write(`${head(5)}he`);
  await expect(world.firstBody()).rejects.toMatchObject({
    detail: "The request body ended before its announced length.",
  });
});

test("a body longer than the limit is refused, also when it is already here", async () => {
  await using world = await setup();
  world.socket.write(`${head(LIMIT + 1)}${LONG}x`);
  await expect(world.firstBody()).rejects.toMatchObject({ code: "too-large" });
});

const CHUNKED = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const LAST_CHUNK = "0\r\n\r\n";

test("a long body has its place in memory from the beginning, and until it is answered", async () => {
  await using world = await setup();
  await world.send(`${head(LIMIT)}x`);
  while (world.memory.held === 0) await turn();
  expect(world.memory.held).toBe(LIMIT);
  const answered = once(world.socket, "data");
  await world.send(LONG.slice(1));
  expect((await world.firstBody()).toString()).toBe(LONG);
  await answered;
  while (world.memory.held > 0) await turn();
});

test("a client that hangs up in the middle of a long body gives its place back", async () => {
  await using world = await setup();
  await world.send(`${head(LIMIT)}x`);
  while (world.memory.held === 0) await turn();
  world.socket.end();
  await expect(world.firstBody()).rejects.toThrow("ended before");
  while (world.memory.held > 0) await turn();
});

test("short bodies, and those in chunks while they are short, are not counted", async () => {
  await using world = await setup();
  const full = world.memory.note("others", 3 * LIMIT);
  await world.send(`${CHUNKED}${chunk("x".repeat(60_000))}`);
  await world.send(LAST_CHUNK);
  expect(await world.firstBody()).toHaveLength(60_000);
  expect(world.memory.held).toBe(3 * LIMIT);
  full[Symbol.dispose]();
});

test.each([
  ["that announces its length", [`${head(LIMIT)}${LONG.slice(0, 99_000)}`], [LONG.slice(99_000)]],
  ["in chunks", [CHUNKED, chunk(LONG.slice(0, 70_000))], [chunk(LONG.slice(70_000)), LAST_CHUNK]],
])("a long body %s waits for its place, and does not stall meanwhile", async (_kind, before, after) => {
  await using world = await setup();
  const full = world.memory.note("others", 3 * LIMIT);
  for (const piece of before) await world.send(piece);
  const body = world.firstBody();
  while (world.clock.waiting === 0) await turn();
  await world.clock.advance(STALL_MS + 1);
  full[Symbol.dispose]();
  await turn();
  for (const piece of after) world.socket.write(piece);
  expect((await body).toString()).toBe(LONG);
});

test.each([
  ["that announces its length", [head(LIMIT)]],
  ["in chunks", [CHUNKED, chunk(LONG.slice(0, 70_000))]],
])("a long body %s for which there is no room in time is refused with the reason", async (_kind, pieces) => {
  await using world = await setup();
  world.memory.note("others", 3 * LIMIT);
  for (const piece of pieces) await world.send(piece);
  const refused = expect(world.firstBody()).rejects.toMatchObject({ code: "unavailable", retryAfterS: 5 });
  while (world.clock.waiting === 0) await turn();
  await world.clock.advance(MEMORY_WAIT_MS);
  await refused;
});

test("a client that waits for `100 Continue` is told to go on when there is room", async () => {
  await using world = await setup();
  const full = world.memory.note("others", 3 * LIMIT);
  await world.send(head(LIMIT).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"));
  while (world.clock.waiting === 0) await turn();
  let said = "";
  world.socket.on("data", (bytes) => {
    said += bytes;
  });
  expect([said, world.there.bytesWritten]).toEqual(["", 0]);
  full[Symbol.dispose]();
  while (said === "") await turn();
  expect(said).toContain("100 Continue");
  world.socket.write(LONG);
  expect((await world.firstBody()).toString()).toBe(LONG);
});
