/** The URLs of a server for this machine, for other nodes and for workers, stored for the command line while it runs. */
import { rm } from "node:fs/promises";
import { connect, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { readPrivate, replacePrivately } from "../kernel/private-file.ts";

export const isLoopback = (host: string) =>
  host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));

/** Whether only this machine reaches the server. A public URL elsewhere means that a proxy brings it the requests of others. */
export const isOnlyHere = ({ host, publicUrl }: { host: string; publicUrl?: string | undefined }): boolean =>
  isLoopback(host) && (publicUrl === undefined || isLoopback(hostIn(new URL(publicUrl))));

/** A server that listens on all addresses is reachable from this machine at the loopback address. */
export function urlOf(host: string, port: number | string): string {
  const reached = isEveryAddress(host) ? "127.0.0.1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

/** A server that listens on all addresses is reachable from other machines at this machine's first external address. */
export function nodeUrlOf(host: string, port: string): string {
  return urlOf(isEveryAddress(host) ? (outerAddress() ?? host) : host, port);
}

/** The first IPv4 address of this machine that is not internal. */
export function outerAddress(): string | undefined {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ internal, family }) => !internal && family === "IPv4")?.address;
}

const isEveryAddress = (host: string) => host === "0.0.0.0" || host === "::";

/** The IP address in a URL, if it has one that others can reach. */
export function publicIpIn(url: string): string | undefined {
  const host = hostIn(new URL(url));
  return isIP(host) && !isLoopback(host) && !isEveryAddress(host) ? host : undefined;
}

const hostIn = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, "");

export interface Addresses {
  /** The URL on which the server listens. */
  url: string;
  /** The URL for workers that people start themselves. */
  workerUrl: string;
}

const fileIn = (data: string) => join(data, "running.json");

/** The key of the installation's owner, which the first start makes. */
export const ownerKeyFile = ({ data }: { data: string }) => join(data, "api-key");

const CONNECT_MS = 2000;

/** Stores where a server listens until it ends. A killed server leaves the file behind. */
export async function announce(data: string, addresses: Addresses): Promise<AsyncDisposable> {
  const text = `${JSON.stringify(addresses)}\n`;
  await replacePrivately(fileIn(data), text);
  return {
    async [Symbol.asyncDispose]() {
      // The next server may have started before this one ended. Then the file belongs to that one.
      if ((await readPrivate(fileIn(data)).catch(() => undefined)) === text) await rm(fileIn(data), { force: true });
    },
  };
}

/** The addresses that the folder's server last stored, if somebody still listens there. */
export async function announced(data: string): Promise<Addresses | undefined> {
  const text = await readPrivate(fileIn(data)).catch(() => undefined);
  if (text === undefined) return undefined;
  const addresses = JSON.parse(text) as Addresses;
  return (await listens(new URL(addresses.url))) ? addresses : undefined;
}

export function listens(url: URL): Promise<boolean> {
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
