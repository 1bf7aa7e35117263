/** The address of a client is what its connection says, or what the proxies say that the operator has named. */
import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { parseRanges } from "../../kernel/addresses.ts";
import { clientAddress, isByProxy, isSecure, Proxies } from "./client-address.ts";

const PROXIES = new Proxies(parseRanges("10.0.0.0/24,127.0.0.0/8,2001:db8::/32"));

/** A request over a connection from this address. */
function sentFrom(remoteAddress: string | undefined, headers: Record<string, string> = {}, encrypted = false) {
  const server = new EventEmitter() as Server;
  PROXIES.watch(server);
  const socket = { remoteAddress, encrypted } as unknown as Socket;
  server.emit("connection", socket);
  return { socket, headers };
}

const FOR = "x-forwarded-for";

describe("the address", () => {
  test.each([
    ["of a client", "203.0.113.7", undefined, "203.0.113.7"],
    ["of a client that says another", "203.0.113.7", "1.2.3.4", "203.0.113.7"],
    ["of a client in IPv6 form", "::ffff:203.0.113.7", undefined, "203.0.113.7"],
    ["that a proxy says", "10.0.0.5", "203.0.113.7", "203.0.113.7"],
    ["that a proxy says in IPv6 form", "::ffff:10.0.0.5", "203.0.113.7", "203.0.113.7"],
    ["that a proxy says with a port", "10.0.0.5", "203.0.113.7:4711", "203.0.113.7"],
    ["that a proxy says in brackets", "10.0.0.5", "[2a00::7]:4711", "2a00::7"],
    ["that a proxy says of a client which said another", "10.0.0.5", "1.2.3.4, 203.0.113.7", "203.0.113.7"],
    ["that the first of two proxies saw", "127.0.0.1", "1.2.3.4, 203.0.113.7, 10.0.0.9", "203.0.113.7"],
    ["of a proxy that says nothing", "10.0.0.5", undefined, "10.0.0.5"],
    ["of a proxy that says no address", "10.0.0.5", "unknown", "10.0.0.5"],
    ["before which somebody wrote no address", "10.0.0.5", "<script>, 203.0.113.7", "203.0.113.7"],
    ["of a proxy, for its own request", "127.0.0.1", "10.0.0.9", "10.0.0.9"],
    ["of a connection that is gone", undefined, "1.2.3.4", undefined],
  ])("%s", (_, remote, said, expected) => {
    expect(clientAddress(sentFrom(remote, said === undefined ? {} : { [FOR]: said }))).toBe(expected);
  });

  test("of a client behind more words than any chain of proxies has", () => {
    const long = Array.from({ length: 5000 }, (_, i) => `10.0.0.${i % 250}`).join(",");
    expect(clientAddress(sentFrom("10.0.0.5", { [FOR]: long }))).toMatch(/^10\.0\.0\./);
  });
});

test("a client speaks TLS with us, or with a proxy that is believed", () => {
  const said = { "x-forwarded-proto": "https, http" };
  expect(isSecure(sentFrom("203.0.113.7", {}, true))).toBe(true);
  expect(isSecure(sentFrom("10.0.0.5", said))).toBe(true);
  expect(isSecure(sentFrom("10.0.0.5", { "x-forwarded-proto": "http" }))).toBe(false);
  expect(isSecure(sentFrom("203.0.113.7", said))).toBe(false);
  expect(isByProxy(sentFrom("203.0.113.7", said).socket)).toBe(false);
});
