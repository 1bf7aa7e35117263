/** The worker link listens on as many addresses as workers need. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { RequestCounts } from "../../kernel/request-counts.ts";
import { Doorkeeper } from "../http/doorkeeper.ts";
import { Router } from "../http/router.ts";
import { closeServer, HttpServer } from "../http/server.ts";
import { LinkListener } from "./link-listener.ts";

function setup() {
  const clock = new FakeClock();
  const router = new Router({ badPath: () => {} });
  router.add(["GET"], "/", (_request, reply) => reply.send("the link"));
  const doorkeeper = new Doorkeeper({ clock, most: 100 });
  const requests = new RequestCounts();
  const http = new HttpServer({ clock, log: silentLog, doorkeeper, router, requests, unknown: () => () => {} });
  const listener = new LinkListener(() => http, silentLog);
  return {
    listener,
    async [Symbol.asyncDispose]() {
      listener.close();
      await closeServer(http, clock);
    },
  };
}

const answerAt = async (host: string, port: number) =>
  (await fetch(`http://${host}:${port}/`, { headers: { connection: "close" } })).text();

test("each address answers, also when they are opened at the same time", async () => {
  await using link = setup();
  const hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
  const ports = await Promise.all(hosts.map((host) => link.listener.open(host, 0)));
  for (const [n, host] of hosts.entries()) expect(await answerAt(host, ports[n]!)).toBe("the link");
});

test("an address that is open stays as it is", async () => {
  await using link = setup();
  const port = await link.listener.open("127.0.0.1", 0);
  expect(await link.listener.open("127.0.0.1", 0)).toBe(port);
});

test("a wanted port that is taken is another one", async () => {
  await using first = setup();
  const taken = await first.listener.open("127.0.0.1", 0);
  await using second = setup();
  const port = await second.listener.open("127.0.0.1", taken);
  expect(port).not.toBe(taken);
  expect(await answerAt("127.0.0.1", port)).toBe("the link");
});

test("an address that the machine does not have is refused, and asked for again later", async () => {
  await using link = setup();
  await expect(link.listener.open("192.0.2.77", 0)).rejects.toThrow("EADDRNOTAVAIL");
  await expect(link.listener.open("192.0.2.77", 0)).rejects.toThrow("EADDRNOTAVAIL");
  expect(await link.listener.open("127.0.0.1", 0)).toBeGreaterThan(0);
});
