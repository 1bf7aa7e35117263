/** Who sent a request: the address of its connection, or what a proxy says that the operator has named. */
import type { IncomingHttpHeaders, Server } from "node:http";
import { isIP, type Socket } from "node:net";
import { type Range, within } from "../../kernel/addresses.ts";
import { connectionEvent } from "./secure-server.ts";

interface Sent {
  socket: Socket;
  headers: IncomingHttpHeaders;
}

const MAPPED = /^::ffff:(?=[0-9.]+$)/i;
/** `203.0.113.7:4711` and `[2001:db8::7]:4711`, as some proxies write them. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([0-9.]+))(?::\d{1,5})?$/;
/** A chain of proxies is shorter. The rest was written by somebody else. */
const LONGEST_CHAIN = 20;

/** What a connection knows of the proxies, if it comes from one of them. Others carry nothing, so that their requests cost nothing. */
const BY_PROXY = Symbol("comes by a proxy");
type Known = Socket & { [BY_PROXY]?: Proxies };

export class Proxies {
  readonly #isProxy: (address: string) => boolean;

  constructor(ranges: readonly Range[]) {
    this.#isProxy = within(ranges);
  }

  watch(server: Server): void {
    server.on(connectionEvent(server), (socket: Socket) => {
      if (this.isProxy(plainAddress(socket.remoteAddress))) (socket as Known)[BY_PROXY] = this;
    });
  }

  isProxy(address: string | undefined): boolean {
    return address !== undefined && isIP(address) !== 0 && this.#isProxy(address);
  }
}

/** A server that listens on IPv4 and IPv6 sees IPv4 addresses embedded in IPv6 ones. */
const plainAddress = (address: string | undefined) => address?.replace(MAPPED, "");

/** Whether what the request says about its way here is believed. */
export const isByProxy = (socket: Socket): boolean => (socket as Known)[BY_PROXY] !== undefined;

/** The address of the client. Each proxy adds the one that it saw, so the last that is no proxy is the client's. */
export function clientAddress({ socket, headers }: Sent): string | undefined {
  const remote = plainAddress(socket.remoteAddress);
  const proxies = (socket as Known)[BY_PROXY];
  const said = proxies && headers["x-forwarded-for"];
  if (!proxies || said === undefined) return remote;
  let client = remote;
  for (const word of String(said).split(",").slice(-LONGEST_CHAIN).reverse()) {
    const address = addressIn(word.trim());
    // What stands before a word that is no address was not written by a proxy.
    if (address === undefined) return client;
    client = address;
    if (!proxies.isProxy(address)) return client;
  }
  return client;
}

function addressIn(word: string): string | undefined {
  const [, inBrackets, plain] = WITH_PORT.exec(word) ?? [];
  const address = plainAddress(inBrackets ?? plain ?? word);
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

/** Whether the client speaks TLS, with us or with a proxy. */
export function isSecure({ socket, headers }: Sent): boolean {
  if ((socket as { encrypted?: boolean }).encrypted) return true;
  const [said = ""] = isByProxy(socket) ? String(headers["x-forwarded-proto"] ?? "").split(",", 1) : [];
  return said.trim() === "https";
}
