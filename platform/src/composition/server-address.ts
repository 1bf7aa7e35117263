/** Where a server is reached: by this machine, by other nodes, and, written down for the command line while it runs, by workers. */
import { rm } from "node:fs/promises";
import { connect, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { readPrivate, replacePrivately } from "../kernel/private-file.ts";

export const isLoopback = (host: string) => host === "localhost" || host === "::1" || host.startsWith("127.");

/** Listening on every address is reached, from this machine, at the loopback one. */
export function urlOf(host: string, port: number | string): string {
  const reached = isEveryAddress(host) ? "127.0.0.1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** Listening on every address is reached, from other machines, at the first of this one that is not its own alone. */
export function nodeUrlOf(host: string, port: string): string {
  return urlOf(isEveryAddress(host) ? (outerAddress() ?? host) : host, port);
}

/** The first address of this machine that is not its own alone. */
export function outerAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ internal, family }) => !internal && family === "IPv4")?.address;
}

const isEveryAddress = (host: string) => host === "0.0.0.0" || host === "::";

/** The address that a URL names, provided that it is one, and one that others can reach. */
export function publicIpIn(url: string): string | undefined {
  const host = hostIn(new URL(url));
  return isIP(host) && !isLoopback(host) && !isEveryAddress(host) ? host : undefined;
}

const hostIn = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, "");

export interface Addresses {
  /** Where it listens. */
  url: string;
  /** Where workers that people start reach it. */
  workerUrl: string;
}

const fileIn = (data: string) => join(data, "running.json");
const CONNECT_MS = 2000;

/** Writes down where a server listens, until it ends. One that is killed leaves its words behind. */
export async function announce(data: string, addresses: Addresses): Promise<AsyncDisposable> {
  const text = `${JSON.stringify(addresses)}\n`;
  await replacePrivately(fileIn(data), text);
  return {
    async [Symbol.asyncDispose]() {
      // The next server may have come up before this one was gone: then it is that one's.
      if ((await readPrivate(fileIn(data)).catch(() => undefined)) === text) await rm(fileIn(data), { force: true });
    },
  };
}

/** What the server of this folder said last, provided that somebody still listens there. */
export async function announced(data: string): Promise<Addresses | undefined> {
  const text = await readPrivate(fileIn(data)).catch(() => undefined);
  if (text === undefined) return undefined;
  const addresses = JSON.parse(text) as Addresses;
  return (await listens(new URL(addresses.url))) ? addresses : undefined;
}

function listens(url: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostIn(url), port: Number(url.port), timeout: CONNECT_MS });
    const answer = (isThere: boolean) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once("connect", () => answer(true));
    socket.once("timeout", () => answer(false));
    socket.once("error", () => answer(false));
  });
}
