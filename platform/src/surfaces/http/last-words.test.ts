/** A client that was refused cannot keep its connection by keeping its own side open, even if it asked to leave HTTP. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { setupNodes } from "../../../tests/node-world.ts";
import { setup, type World } from "../../../tests/world.ts";
import { turn } from "../../kernel/clock.ts";

const upgrade = (to: string) =>
  `HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\nX-Millrace-Node-Pass: x\r\n\r\n`;

async function expectClosed({ app, clock, url }: World, text: string, status: number): Promise<void> {
  const open = () => new Promise<number>((resolve) => app.http.server.getConnections((_, count) => resolve(count)));
  const before = await open();
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", allowHalfOpen: true });
  socket.write(text);
  expect(String((await once(socket, "data"))[0])).toContain(`HTTP/1.1 ${status} `);
  await once(socket.resume(), "end");
  expect(await open()).toBe(before + 1);
  await clock.advance(2000);
  while ((await open()) > before) await turn();
  socket.destroy();
}

test.each([
  ["a WebSocket without a key", `GET /v2/abcdefghijklmn/x ${upgrade("websocket")}`, 401],
  ["a WebSocket of a Pod without a key", `GET /pods/abcdefghijklmn/ports/80/x ${upgrade("websocket")}`, 401],
  ["a terminal without a ticket", `GET /v2/terminals/none ${upgrade("websocket")}`, 401],
  ["what is no HTTP", "hello\r\n\r\n", 400],
])("%s", async (_what, text, status) => {
  await using world = await setup();
  await expectClosed(world, text, status);
});

test.each([
  ["a worker of this node without a pass", `GET /nodes/n/instances/w/connection/of/e ${upgrade("millrace-worker")}`],
  ["an instance of this node without a pass", `GET /nodes/n/instances/i/exec ${upgrade("millrace-exec")}`],
])("%s", async (_what, text) => {
  await using nodes = await setupNodes();
  await expectClosed(nodes.second, text, 401);
});
