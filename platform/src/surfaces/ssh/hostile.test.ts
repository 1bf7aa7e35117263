/** Clients that break their own promises. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Client, ClientChannel } from "ssh2";
import { expect, test } from "vitest";
import { execOn, outcomeOf, shellOn } from "../../../tests/ssh-client.ts";
import { setupSsh } from "../../../tests/ssh-world.ts";
import { turn } from "../../kernel/clock.ts";
import type { FakeExecution } from "../../ports/compute/fake-execution.ts";
import { RESIZE_MS } from "../resizes.ts";

interface Inside {
  _sock: Socket;
  _protocol: { session(channel: number, window: number, packet: number): void };
}

const inside = (client: Client) => client as unknown as Inside;

/** From now on sessions are opened as if the client could take this window, and packets of this size. */
function claim(client: Client, window: number, packet: number): void {
  const protocol = inside(client)._protocol;
  const { session } = protocol;
  protocol.session = (channel) => session.call(protocol, channel, window, packet);
}

/** Waits until a value has not changed for many turns. Bytes that are stuck on a connection never count as idle. */
async function still(value: () => number): Promise<void> {
  for (let last = -1, same = 0; same < 300; same = value() === last ? same + 1 : 0) {
    last = value();
    await turn();
  }
}

const PIECE = Buffer.alloc(65_536, "x");
const WHOLE_WINDOW = 2 ** 32 - 1;

test("one that takes packets of nothing is sent away, and the server goes on", async () => {
  await using world = await setupSsh();
  world.plays((program) => void program.write("words"));
  const client = await world.logIn();
  claim(client, WHOLE_WINDOW, 0);
  const closed = once(client, "close");
  client.exec("true", () => {});
  await closed;
  await using next = await world.logIn();
  const channel = await execOn(next, "true");
  expect(String((await once(channel, "data"))[0])).toBe("words");
});

test("one that claims to take everything and reads nothing stops the program all the same", async () => {
  await using world = await setupSsh();
  let written = 0;
  world.plays(async (program) => {
    for (; written < 2000; written++) await program.write(PIECE);
  });
  await using client = await world.logIn();
  claim(client, WHOLE_WINDOW, 32_768);
  await execOn(client, "yes");
  inside(client)._sock.pause();
  await still(() => written);
  // The connection itself holds some MB in transit. Without a limit it would be 128.
  expect((written * PIECE.length) / 1_048_576).toBeLessThan(32);
});

test("one that sends more than it was allowed is closed", async () => {
  await using world = await setupSsh();
  world.plays(() => {});
  const client = await world.logIn();
  const channel = await execOn(client, "sleep");
  const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
  (channel as unknown as { outgoing: { window: number } }).outgoing.window = WHOLE_WINDOW;
  // The sizes are odd, since the library itself drops input once the window is exactly used up.
  for (let sent = 0; sent < 200; sent++) channel.write(PIECE.subarray(1 + sent));
  await closed;
  expect(world.told("an SSH client sent more than it was allowed")).not.toEqual([]);
});

test("two outputs that both have to wait arrive whole, and once", async () => {
  await using world = await setupSsh();
  const pieces = 160;
  let written = 0;
  world.plays(async (program) => {
    for (let n = 0; n < pieces; n++, written++) {
      await program.write(Buffer.alloc(PIECE.length - 1, n));
      await program.write(Buffer.alloc(PIECE.length - 1, n), "stderr");
    }
    program.end({ code: 0 });
  });
  await using client = await world.logIn();
  const channel = await execOn(client, "both");
  await still(() => written);
  expect(written).toBeLessThan(pieces);
  const [out, errors] = await Promise.all([sumOf(channel), sumOf(channel.stderr), once(channel, "close")]);
  const length = pieces * (PIECE.length - 1);
  const whole = { length, sum: (length * (pieces - 1)) / 2 };
  expect([out, errors]).toEqual([whole, whole]);
});

async function sumOf(stream: ClientChannel | ClientChannel["stderr"]): Promise<{ length: number; sum: number }> {
  let [length, sum] = [0, 0];
  for await (const piece of stream) {
    length += (piece as Buffer).length;
    for (const byte of piece as Buffer) sum += byte;
  }
  return { length, sum };
}

test("what is no SFTP ends the transfer, with words", async () => {
  await using world = await setupSsh();
  world.plays((program) => void program.write("A\n"));
  await using client = await world.logIn();
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    client.subsys("sftp", (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  channel.write(Buffer.alloc(64, 0xff));
  expect((await outcomeOf(channel)).errors).toContain("is no SFTP: a packet of 4294967295 bytes");
});

/** Sends these bytes without a login, and waits until the server has closed the connection. */
async function stranger(port: number, ...pieces: (string | Buffer)[]): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {}).resume();
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  for (const piece of pieces) {
    socket.write(piece);
    await turn();
  }
  socket.end();
  await closed;
}

test("of hundreds of sizes at once the first and the last are told", async () => {
  await using world = await setupSsh();
  const told: number[] = [];
  const [shown, last] = [Promise.withResolvers<FakeExecution>(), Promise.withResolvers<void>()];
  world.plays((program) => {
    program.onResize = ({ columns }) => {
      told.push(columns);
      if (columns === 300) last.resolve();
    };
    shown.resolve(program);
  });
  await using client = await world.logIn();
  const channel = await shellOn(client);
  const program = await shown.promise;
  await world.settle();
  for (let columns = 1; columns <= 300; columns++) channel.setWindow(24, columns, 0, 0);
  channel.write("x");
  await once(program.input, "data");
  await world.clock.armed(RESIZE_MS);
  expect(told).toEqual([1]);
  await world.clock.advance(RESIZE_MS);
  await last.promise;
  expect(told).toEqual([1, 300]);
});

test("of hundreds of signals at once 40 reach the program, and then 20 a second", async () => {
  await using world = await setupSsh();
  let told = 0;
  const played = Promise.withResolvers<FakeExecution>();
  world.plays((program) => {
    program.onSignal = () => void told++;
    played.resolve(program);
  });
  await using client = await world.logIn();
  const channel = await execOn(client, "sleep 100");
  const program = await played.promise;
  const send = async (signals: number) => {
    await world.settle();
    for (let sent = 0; sent < signals; sent++) channel.signal("USR1");
    channel.write("x");
    await once(program.input, "data");
  };
  await send(150);
  expect(told).toBe(40);
  await world.clock.advance(10_000);
  await send(150);
  expect(told).toBe(80);
});

test("one that asks without end is not read until time has made up for it", async () => {
  await using world = await setupSsh();
  const played = Promise.withResolvers<FakeExecution>();
  world.plays((program) => played.resolve(program));
  await using client = await world.logIn();
  const channel = await shellOn(client);
  const program = await played.promise;
  let heard = "";
  program.input.on("data", (data: Buffer) => {
    heard += data;
  });
  await world.settle();
  for (let columns = 1; columns <= 700; columns++) channel.setWindow(24, columns, 0, 0);
  // The server takes 400 requests at once, and 200 per second.
  await world.clock.armed(5);
  channel.write("later");
  await still(() => heard.length);
  expect(heard).toBe("");
  const read = once(program.input, "data");
  await world.clock.advance(5000);
  await read;
  expect(heard).toBe("later");
});

test("one that sends more than 256 KiB without saying who it is is closed", async () => {
  await using world = await setupSsh();
  // Each packet is one to be ignored, but together they are too much.
  const ignored = Buffer.alloc(32_768);
  ignored.writeUInt32BE(ignored.length - 4, 0);
  ignored.set([8, 2, ...new Uint8Array(new Uint32Array([0]).buffer)], 4);
  await stranger(world.port, "SSH-2.0-x\r\n", ...Array<Buffer>(9).fill(ignored));
  expect(reasons(world)).toEqual(["more than 262144 bytes before a login"]);
});

const reasons = (world: Awaited<ReturnType<typeof setupSsh>>) =>
  world.told("SSH connection ended").map(({ reason }) => reason);

test("one that goes on without a line end is closed after 255 bytes, and the log says why", async () => {
  await using world = await setupSsh();
  await stranger(world.port, "a".repeat(200), "a".repeat(56), ...Array<Buffer>(48).fill(PIECE));
  await stranger(world.port, "\r".repeat(300));
  expect(reasons(world)).toEqual(Array(2).fill("no line end within the first 255 bytes"));
});

test("one whose first line is none of an SSH client is closed", async () => {
  await using world = await setupSsh();
  await stranger(world.port, "GET / HTTP/1.1\r\n", PIECE);
  expect(reasons(world)).toEqual(["the first line is none of an SSH client"]);
});

test("one that announces a packet of 2 GB is closed before anything is kept of it", async () => {
  await using world = await setupSsh();
  const packet = Buffer.from([0x7f, 0xff, 0xff, 0xfc, 4]);
  await stranger(world.port, "SSH-2.0-x\r\n", packet, ...Array<Buffer>(20).fill(PIECE));
  expect(reasons(world)).toEqual(["Bad packet length"]);
});

test("one that breaks the protocol again and again is kept out", async () => {
  await using world = await setupSsh();
  for (let times = 0; times < 31; times++) await stranger(world.port, "x".repeat(256));
  expect(reasons(world)).toHaveLength(30);
  expect(world.told("SSH connection refused")).toHaveLength(1);
});
