/** Connections that another process makes and passes on, to listeners that misbehave in every possible way. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { realClock } from "../../kernel/clock.ts";
import { Dialer } from "./dialer.ts";

const ROUNDS = 200;

let dialer: Dialer;

beforeAll(() => {
  dialer = new Dialer(() => [], realClock);
});

afterAll(() => dialer.close());

/** Listens, and runs `accepted` for each connection. */
async function listener(accepted: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    accepted(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
}

test("what is said at once is not lost", async () => {
  using server = await listener((socket) => socket.end("hello"));
  const connections = await Promise.all(Array.from({ length: 20 }, () => dialer.dial("127.0.0.1", server.port)));
  for (const connection of connections) {
    let text = "";
    for await (const chunk of connection) text += chunk;
    expect(text).toBe("hello");
  }
});

test.each([
  ["resets it", (socket: Socket) => socket.resetAndDestroy()],
  ["closes it", (socket: Socket) => socket.destroy()],
])("whoever %s at once has refused it, or it closes later: it is never missing", async (_what, accepted) => {
  using server = await listener(accepted);
  const dialled = Array.from({ length: ROUNDS }, () => dialer.dial("127.0.0.1", server.port));
  const closed = (await Promise.allSettled(dialled)).map(async (outcome) => {
    if (outcome.status === "rejected") return expect(outcome.reason).toBeInstanceOf(Error);
    const connection = outcome.value;
    // A reset is reported as an error first, and ends the connection just as well.
    connection.on("error", () => {});
    if (!connection.closed) await new Promise((resolve) => connection.resume().once("close", resolve));
  });
  await Promise.all(closed);
});

test("nobody who listens is a refusal", async () => {
  const server = await listener(() => {});
  server[Symbol.dispose]();
  await expect(dialer.dial("127.0.0.1", server.port)).rejects.toThrow("ECONNREFUSED");
});

test("a network that cannot be entered is a refusal, and the next one is asked anew", async () => {
  using server = await listener((socket) => socket.end("hello"));
  let enter = ["/bin/false"];
  const moved = new Dialer(() => enter, realClock);
  await expect(moved.dial("127.0.0.1", server.port)).rejects.toThrow("cannot be entered");
  enter = ["/nowhere/nsenter"];
  await expect(moved.dial("127.0.0.1", server.port)).rejects.toThrow(/ENOENT|cannot be entered/);
  enter = [];
  const connection = await moved.dial("127.0.0.1", server.port);
  connection.destroy();
  await moved.close();
});
