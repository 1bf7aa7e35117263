/** Clients that misuse forwarding: the memory they take is bounded, and no one else notices. */
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Client, ClientChannel } from "ssh2";
import { expect, test } from "vitest";
import { dialOn, execOn, outcomeOf } from "../../../tests/ssh-client.ts";
import { type SshWorld, setupSsh } from "../../../tests/ssh-world.ts";
import { turn } from "../../kernel/clock.ts";

interface Inside {
  _sock: Socket;
  _protocol: Record<string, (...args: unknown[]) => void>;
}

const inside = (client: Client) => client as unknown as Inside;
const PIECE = Buffer.alloc(65_536, "x");
const MB = 1_048_576;
const WHOLE_WINDOW = 2 ** 32 - 1;

/** Waits until a value has not changed for many turns. Bytes that are stuck on a connection never count as idle. */
async function still(value: () => number): Promise<void> {
  for (let last = -1, same = 0; same < 300; same = value() === last ? same + 1 : 0) {
    last = value();
    await turn();
  }
}

/** From now on channels are opened as if the client could take everything. */
function claimEverything(client: Client): void {
  const protocol = inside(client)._protocol;
  const { directTcpip } = protocol;
  protocol.directTcpip = (channel, _window, packet, ...more) =>
    directTcpip!.call(protocol, channel, WHOLE_WINDOW, packet, ...more);
}

/** A program that writes without end once it is told to begin, as fast as it is read, and counts what it wrote. */
function talks(world: SshWorld, port: number) {
  const connections: Duplex[] = [];
  const told = { written: 0, begin: () => connections.forEach(write) };
  const write = (connection: Duplex) => {
    while (told.written < 256 * MB && !connection.destroyed) {
      told.written += PIECE.length;
      if (!connection.write(PIECE)) return void connection.once("drain", () => write(connection));
    }
  };
  world.instance.listen(port, (connection) => connections.push(connection.on("error", () => {})));
  return told;
}

test("a channel that is never read stops what talks to it, and no other channel", async () => {
  await using world = await setupSsh();
  const told = talks(world, 9000);
  world.instance.listen(9001, (connection) => connection.pipe(connection));
  await using client = await world.logIn();
  (await dialOn(client, "localhost", 9000)).pause();
  told.begin();
  await still(() => told.written);
  expect(told.written).toBeLessThan(16 * MB);
  const other = await dialOn(client, "localhost", 9001);
  other.write("hello");
  expect(String((await once(other, "data"))[0])).toBe("hello");
});

test("so does a client that claims to take everything on many channels, and reads nothing", async () => {
  await using world = await setupSsh();
  const told = talks(world, 9000);
  await using client = await world.logIn();
  claimEverything(client);
  for (let count = 0; count < 100; count++) await dialOn(client, "localhost", 9000);
  inside(client)._sock.pause();
  told.begin();
  await still(() => told.written);
  // Some bytes are in transit in the connection itself.
  expect(told.written).toBeLessThan(48 * MB);
});

test("of what programs do not take, an account has so much in memory, and others go on", async () => {
  await using world = await setupSsh();
  const deaf: Duplex[] = [];
  world.instance.listen(9000, (connection) => deaf.push(connection.on("error", () => {})));
  await using client = await world.logIn();
  const channels: ClientChannel[] = [];
  for (let count = 0; count < 40; count++) channels.push(await dialOn(client, "localhost", 9000));
  // With only the 2 MB window per channel, 80 MB would get in.
  const taken = channels.map((channel) => new Promise((resolve) => channel.write(Buffer.alloc(2 * MB), resolve)));
  const { _sock: socket } = inside(client);
  const sent = () => socket.bytesWritten - socket.writableLength;
  await still(sent);
  expect(sent()).toBeLessThan(48 * MB);
  // The account's other connection is still read, a little at a time.
  await using second = await world.logIn();
  world.plays((program) => program.end({ code: 3 }));
  expect((await outcomeOf(await execOn(second, "true"))).code).toBe(3);
  // Once the programs read, everything goes on.
  let isOver = false;
  const all = Promise.all(taken).then(() => {
    isOver = true;
  });
  const eat = () => {
    for (const connection of deaf) connection.resume();
  };
  for (eat(); !isOver; eat()) await world.pass(0.05);
  await all;
});

test("one that asks and asks and does not read the answers is closed", async () => {
  await using world = await setupSsh();
  await using client = await world.logIn();
  const { _sock: socket, _protocol: protocol } = inside(client);
  socket.pause();
  const far = { srcIP: "", srcPort: 1, dstIP: "x".repeat(255), dstPort: 80 };
  const told = () => world.told("an SSH client asks, and does not read the answers").length;
  for (let rounds = 0; told() === 0 && rounds < 100; rounds++) {
    for (let count = 0; count < 2000; count++) protocol.directTcpip!(count, 1000, 32_768, far);
    await world.clock.advance(10_000);
    await still(() => socket.writableLength);
  }
  expect(told()).toBe(1);
});
