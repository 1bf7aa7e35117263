/** Sends a webhook to an address that it looked up once and checked. Follows no redirect, reaches nothing private unless allowed. */
import { lookup as systemLookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { Readable } from "node:stream";
import type { Post } from "../../jobs/webhooks.ts";
import { isSpecial, type Range, within } from "../../kernel/addresses.ts";
import { bytesInSlices } from "../../kernel/slices.ts";

const TIMEOUT_MS = 10_000;
/** The answer's content is discarded. An answer up to this size is read to its end. */
const ANSWER_BYTES = 64 * 1024;

/** A body is sent no faster than the target takes it, and is encrypted in small pieces. */
const WRITTEN_AT_ONCE = 256 * 1024;

/** Webhooks never reach this machine or its network, not even at a public address of the machine. */
export function isPrivate(address: string): boolean {
  return isSpecial(address) || ownAddresses().has(address);
}

function ownAddresses(): Set<string> {
  const interfaces = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(interfaces.map(({ address }) => address));
}

type Found = { address: string; family: number };

/**
 * Avoids the system's resolver, which occupies one of a few threads while a name server is silent: four slow names would stop all reading
 * and writing of files. Where all addresses are allowed, the system's resolver is used, since strangers choose no addresses there.
 */
async function find(host: string, bySystem: boolean): Promise<Found[]> {
  if (bySystem || !host.includes(".")) return findBySystem(host);
  const resolver = new Resolver({ timeout: TIMEOUT_MS / 4, tries: 2 });
  const asked = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = asked.flatMap((answer, i) =>
    answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
  );
  if (found.length === 0 && asked[0].status === "rejected") throw asked[0].reason;
  return found;
}

function findBySystem(host: string): Promise<Found[]> {
  return new Promise((resolve, reject) =>
    systemLookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  );
}

/** Checks the same address that is then connected to, so a name that resolves differently the second time gains nothing. */
function checkedLookup(mayReach: (address: string) => boolean, bySystem: boolean): LookupFunction {
  return (host, options, done) => {
    const choose = (addresses: Found[]) => {
      const first = addresses.find(({ address }) => mayReach(address));
      if (!first) return done(refused(host), "", 0);
      return options.all
        ? (done as (e: null, a: Found[]) => void)(null, [first])
        : done(null, first.address, first.family);
    };
    find(host, bySystem).then(choose, (error: NodeJS.ErrnoException) => done(error, "", 0));
  };
}

export interface PostOptions {
  /** Whether webhooks may reach all private addresses. */
  allowPrivate: boolean;
  /** The private addresses that webhooks may reach. */
  reachable: readonly Range[];
}

export function createPost({ allowPrivate, reachable }: PostOptions): Post {
  const isAllowed = within(reachable);
  const mayReach = (address: string) => allowPrivate || isAllowed(address) || !isPrivate(address);
  return (url, body, headers) =>
    new Promise((resolve, reject) => {
      let status: number | undefined;
      const target = new URL(url);
      const literal = target.hostname.replace(/^\[|\]$/g, "");
      // A literal address is never looked up, so it is checked here.
      if (isIP(literal) && !mayReach(literal)) return reject(refused(literal));
      const send = target.protocol === "https:" ? httpsRequest : httpRequest;
      const request: ClientRequest = send(
        target,
        {
          method: "POST",
          agent: false,
          lookup: checkedLookup(mayReach, allowPrivate),
          signal: AbortSignal.timeout(TIMEOUT_MS),
          headers: {
            ...headers,
            "content-type": "application/json",
            "content-length": body.reduce((sum, { byteLength }) => sum + byteLength, 0),
            "user-agent": "Millrace",
          },
        },
        (response) => {
          status = response.statusCode ?? 0;
          // Resolves only when the connection has closed, so that the count of webhooks under way is right.
          response.once("close", () => resolve({ status: status! }));
          drop(response);
        },
      );
      // A received status counts, even when the rest of the answer never arrives.
      request.on("error", (error) => (status === undefined ? reject(error) : resolve({ status })));
      Readable.from(bytesInSlices(body, WRITTEN_AT_ONCE)).pipe(request);
    });
}

function drop(response: IncomingMessage): void {
  let bytes = 0;
  response.on("error", () => {});
  response.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES) response.destroy();
  });
}

function refused(host: string): Error {
  return new Error(
    `'${host}' is not a public address; MILLRACE_REACHABLE names others that webhooks and programs may reach, and MILLRACE_WEBHOOK_PRIVATE=allow permits all to webhooks`,
  );
}
