/** Sending a webhook: one address looked up once, checked, connected to; no redirects; nothing private unless allowed. */
import { lookup as dnsLookup } from "node:dns";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Post } from "../../jobs/webhooks.ts";

const TIMEOUT_MS = 10_000;

/** Addresses that belong to this machine, its network or no one: a caller must not reach them through us. */
const privateAddresses = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  privateAddresses.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  ["::", 128],
  ["::1", 128],
  ["64:ff9b::", 96],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const) {
  privateAddresses.addSubnet(network, prefix, "ipv6");
}

export function isPrivate(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return isPrivate(mapped);
  return privateAddresses.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Checks the very address that is connected to: a name that answers differently the second time gains nothing. */
function checkedLookup(allowPrivate: boolean): LookupFunction {
  return (host, options, done) => {
    dnsLookup(host, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, "", 0);
      const usable = allowPrivate ? addresses : addresses.filter(({ address }) => !isPrivate(address));
      const first = usable[0];
      if (!first) return done(refused(host), "", 0);
      return options.all
        ? (done as (e: null, a: typeof usable) => void)(null, [first])
        : done(null, first.address, first.family);
    });
  };
}

export function createPost({ allowPrivate }: { allowPrivate: boolean }): Post {
  return (url, body, headers) =>
    new Promise((resolve, reject) => {
      const target = new URL(url);
      const literal = target.hostname.replace(/^\[|\]$/g, "");
      // A literal address is never looked up, so it is checked here.
      if (isIP(literal) && !allowPrivate && isPrivate(literal)) return reject(refused(literal));
      const send = target.protocol === "https:" ? httpsRequest : httpRequest;
      const request = send(
        target,
        {
          method: "POST",
          agent: false,
          lookup: checkedLookup(allowPrivate),
          timeout: TIMEOUT_MS,
          signal: AbortSignal.timeout(TIMEOUT_MS),
          headers: {
            ...headers,
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
            "user-agent": "Millrace",
          },
        },
        (response) => {
          response.resume();
          resolve({ status: response.statusCode ?? 0 });
        },
      );
      request.on("error", reject);
      return request.end(body);
    });
}

function refused(host: string): Error {
  return new Error(`'${host}' is a private address; MILLRACE_WEBHOOK_PRIVATE=allow permits such targets`);
}
