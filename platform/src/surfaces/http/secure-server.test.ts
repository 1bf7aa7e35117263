/** The listener that speaks TLS answers as the other one does, and changes its certificate without losing a connection. */
import { once } from "node:events";
import { Agent, request as ask } from "node:https";
import { connect as connectPlainly } from "node:net";
import { text } from "node:stream/consumers";
import { connect, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { first, second } from "../../../tests/certificates.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { RequestCounts } from "../../kernel/request-counts.ts";
import { isSecure } from "./client-address.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { Router } from "./router.ts";
import { type Ahead, closeServer, HttpServer } from "./server.ts";

const ca = [first.certificate.cert, second.certificate.cert];

async function setup() {
  const clock = new FakeClock();
  const doorkeeper = new Doorkeeper({ clock, most: 100 });
  const router = new Router({ badPath: (_, reply) => reply.code(400).send("bad") });
  router.add(["GET"], "/hello", (request, reply) => reply.code(200).send(isSecure(request) ? "securely" : "openly"));
  const ahead: Ahead = {
    find: () => undefined,
    mayUpgrade: ({ headers }) => headers.upgrade === "echo",
    upgrade(_, socket) {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
      socket.pipe(socket);
    },
  };
  const requests = new RequestCounts();
  const parts = { clock, log: silentLog, doorkeeper, requests, router, unknown: () => () => {}, ahead };
  const https = new HttpServer({ ...parts, certificate: first.certificate });
  const url = new URL(await https.listen({ port: 0, host: "127.0.0.1" }));
  const agent = new Agent({ keepAlive: true, ca, maxCachedSessions: 0 });
  return {
    ...{ https, url, agent, doorkeeper, port: Number(url.port) },
    async hello(over = agent) {
      const asked = ask(new URL("/hello", url), { agent: over }).end();
      const [response] = await once(asked, "response");
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      return { answer: await text(response), serialNumber, isReused: asked.reusedSocket };
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      const closing = closeServer(https, clock);
      https.server.closeAllConnections();
      await closing;
      await doorkeeper[Symbol.asyncDispose]();
    },
  };
}

test("requests are answered, and several on one connection", async () => {
  await using world = await setup();
  expect(world.url.protocol).toBe("https:");
  expect(await world.hello()).toEqual({ answer: "securely", serialNumber: "01", isReused: false });
  expect(await world.hello()).toMatchObject({ answer: "securely", isReused: true });
  expect(world.doorkeeper.connections.open).toBe(1);
});

test("a new certificate is for new connections, and open ones go on with theirs", async () => {
  await using world = await setup();
  await world.hello();
  world.https.present(second.certificate);
  expect(await world.hello()).toMatchObject({ serialNumber: "01", isReused: true });
  expect(await world.hello(new Agent({ ca }))).toMatchObject({ answer: "securely", serialNumber: "02" });
  expect(await world.hello()).toMatchObject({ serialNumber: "01", isReused: true });
});

test("a connection leaves HTTP as it does without TLS", async () => {
  await using world = await setup();
  const socket = connect({ port: world.port, host: "127.0.0.1", ca }).setEncoding("utf8");
  socket.write("GET /hello HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  expect((await once(socket, "data"))[0]).toMatch(/^HTTP\/1\.1 101 /);
  socket.write("to the mill");
  expect((await once(socket, "data"))[0]).toBe("to the mill");
  socket.destroy();
});

test("a client that speaks no TLS is let go, and the others are answered on", async () => {
  await using world = await setup();
  const socket = connectPlainly(world.port, "127.0.0.1").on("error", () => {});
  socket.write("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n");
  await once(socket, "close");
  expect(await world.hello()).toMatchObject({ answer: "securely" });
});
