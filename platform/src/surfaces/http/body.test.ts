/** A body is read whole, however it arrives, and one that breaks off keeps nobody waiting. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { readBody } from "./body.ts";

const LIMIT = 100_000;

/** A server that reads bodies as the pipeline does, and a client's bare connection to it. */
async function setup({ came = () => {} }: { came?: (request: IncomingMessage) => void } = {}) {
  const clock = new FakeClock();
  const bodies: Promise<Buffer>[] = [];
  const server = createServer((request, response) => {
    const body = readBody(request, response, { limit: LIMIT, clock });
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
  return {
    socket,
    /** Resolves when the server has this piece, so that the next one comes by itself. */
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
  await expect(world.firstBody()).rejects.toMatchObject({ status: 413 });
});
