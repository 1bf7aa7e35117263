/** An account opens far too many connections, and asks for too much or nothing on them. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { stay } from "../../../src/kernel/clock.ts";
import type { Scene } from "../stage.ts";

const CONNECTIONS = 200;
/** The number of connections that ask for much at once. It is small, since the cost of the answers is not what is measured. */
const FEW = 8;
const HOLD_MS = 1500;

const asked = (path: string, key: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: ${key}\r\n\r\n`;

async function open(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

/** The server may reset a connection with bytes that it has not read. That is an end like any other. */
const closed = (socket: Socket) =>
  socket.destroyed || new Promise<void>((resolve) => socket.once("close", () => resolve()));

interface Manner {
  count?: number;
  read?: boolean;
  closes?: boolean;
}

async function hold(url: string, text: string, { count = CONNECTIONS, read = true }: Manner): Promise<Socket[]> {
  const sockets = await Promise.all(Array.from({ length: count }, () => open(url)));
  for (const socket of sockets) {
    if (read) socket.resume();
    socket.write(text);
  }
  return sockets;
}

const scene = (name: string, text: (key: string) => string, manner: Manner = {}): Scene => ({
  name,
  async attack({ server, hostile }) {
    // The server builds the document at the first request.
    await hostile.call("GET", "/v2/openapi.json");
    const sockets = await hold(server.url, text(hostile.key), manner);
    if (manner.closes) await Promise.all(sockets.map(closed));
    else await stay(HOLD_MS);
    for (const socket of sockets) socket.destroy();
  },
});

export const scenes: Scene[] = [
  scene("headers come that never end", () => "GET / HTTP/1.1\r\nX-Slow: "),
  scene("bodies come that never end", (key) =>
    asked("/v2/zzzzzzzzzzzzzz/run", key).replace("GET", "POST").replace("\r\n\r\n", "\r\nContent-Length: 999\r\n\r\n{"),
  ),
  scene("answers are asked for and not read", (key) => asked("/v2/openapi.json", key).repeat(90), {
    count: FEW,
    read: false,
  }),
  scene("hundreds of requests are sent ahead of their answers", (key) => asked("/v2/serverless", key).repeat(400), {
    count: FEW,
    closes: true,
  }),
];
