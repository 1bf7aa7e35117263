/** Connections that linger after a refusal are bounded in time, in bytes and in number. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { Lingering } from "./linger.ts";

const MIB = 1024 * 1024;

/** A server that refuses everything before it has read it, and closes the connection. */
async function setup() {
  const clock = new FakeClock();
  const lingering = new Lingering(clock);
  let thrownAway = 0;
  const server = createServer((request, response) => {
    lingering.came(request);
    response.on("close", () => {
      lingering.discard(request);
      request.on("data", (chunk: Buffer) => {
        thrownAway += chunk.length;
      });
    });
    request.resume();
    response.writeHead(413, { connection: "close", "content-length": 0 }).end();
  });
  lingering.watch(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets: Socket[] = [];
  return {
    clock,
    /** A client that has read its refusal in the middle of sending. */
    async refused(length: number): Promise<Socket> {
      const port = (server.address() as AddressInfo).port;
      const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      sockets.push(socket);
      socket.on("error", () => {});
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nx`);
      const [answer] = await once(socket, "data");
      expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
      return socket;
    },
    async thrownAway(bytes: number): Promise<void> {
      while (thrownAway < bytes) await turn();
    },
    async open(count: number): Promise<void> {
      const now = () => new Promise<number>((resolve) => server.getConnections((_, open) => resolve(open)));
      while ((await now()) !== count) await turn();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
      expect(clock.waiting).toBe(0);
    },
  };
}

test("a client that sends nothing more is cut off after 2 seconds", async () => {
  await using world = await setup();
  await world.refused(100);
  await world.open(1);
  await world.clock.advance(1999);
  await world.open(1);
  await world.clock.advance(1);
  await world.open(0);
});

test("one that goes on sending is heard out for 10 seconds at most", async () => {
  await using world = await setup();
  const socket = await world.refused(1000);
  for (let span = 1; span < 5; span++) {
    socket.write("more");
    await world.thrownAway(4 * span);
    await world.clock.advance(2000);
    await world.open(1);
  }
  socket.write("more");
  await world.thrownAway(4 * 5);
  await world.clock.advance(2000);
  await world.open(0);
});

test("one whose body is over is closed at once", async () => {
  await using world = await setup();
  (await world.refused(5)).write("xxxx");
  await world.open(0);
});

test("one that sends more than 64 MiB is cut off", async () => {
  await using world = await setup();
  const socket = await world.refused(200 * MIB);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const send = () => {
    while (!socket.destroyed && socket.write(Buffer.alloc(MIB)));
  };
  socket.on("drain", send);
  send();
  await world.open(0);
  await closed;
  expect(socket.bytesWritten).toBeLessThan(100 * MIB);
});

test("of more than 256 at once, those beyond are cut off at once", async () => {
  await using world = await setup();
  for (let i = 0; i < 270; i++) await world.refused(100);
  await world.open(256);
  await world.clock.advance(2000);
  await world.open(0);
});
