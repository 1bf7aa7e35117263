/** Sends a webhook to an address that it looked up once and checked. Follows no redirect, reaches nothing private unless allowed. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import type { Post } from "../../jobs/webhooks.ts";
import { type Range, within } from "../../kernel/addresses.ts";
import { bytesInSlices } from "../../kernel/slices.ts";
import { checkedLookup, isPrivate } from "../machine/checked-lookup.ts";

const TIMEOUT_MS = 10_000;
/** The answer's content is discarded. An answer up to this size is read to its end. */
const ANSWER_BYTES = 64 * 1024;

/** A body is sent no faster than the target takes it, and is encrypted in small pieces. */
const WRITTEN_AT_ONCE = 256 * 1024;

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
          lookup: checkedLookup(mayReach, { refused, bySystem: allowPrivate }),
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
