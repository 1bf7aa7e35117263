/** Reads the body of an S3 request as it arrives: never whole in memory, and checked against every digest that was sent. */
import { createHash, type Hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { crc32 } from "node:zlib";
import type { Clock } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";
import { waitsForContinue } from "../http/body.ts";
import { arrivingIn } from "../http/bytes.ts";
import { unchunked } from "./chunked.ts";
import { S3Refused } from "./refusals.ts";
import type { Verified } from "./signature.ts";

/** S3's own limit for a single upload. */
const LARGEST = 5 * 1024 * MIB;

export interface Incoming {
  request: IncomingMessage;
  response: ServerResponse;
  clock: Clock;
  verified: Verified;
}

/** The bytes without the framing of `aws-chunked`. Throws, at the latest at the end, if they are not what was signed. */
export async function* bodyOf(incoming: Incoming): AsyncIterable<Buffer> {
  const { request, response, verified } = incoming;
  const { headers } = request;
  const { payload } = verified;
  const isChunked = payload.startsWith("STREAMING-");
  const announced = headers[isChunked ? "x-amz-decoded-content-length" : "content-length"];
  if (announced === undefined || !/^\d{1,16}$/.test(String(announced)))
    throw new S3Refused("MissingContentLength", "The request does not say how long its body is.");
  const length = Number(announced);
  if (length > LARGEST) throw new S3Refused("EntityTooLarge", "More than 5 GiB at once: send it in parts.");
  const checks = new Checks(headers, payload);
  if (waitsForContinue.delete(request)) response.writeContinue();
  let came = 0;
  const trailers = new Map<string, string>();
  const arriving = arrivingIn(request, incoming.clock);
  for await (const chunk of isChunked ? unchunked(arriving, verified, trailers) : arriving) {
    came += chunk.length;
    if (came > length) throw new S3Refused("IncompleteBody", "The body is longer than was announced.");
    checks.add(chunk);
    yield chunk;
  }
  if (came < length) throw new S3Refused("IncompleteBody", "The body is shorter than was announced.");
  checks.end(trailers);
}

/** Reads a small body as text. */
export async function textOf(incoming: Incoming, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of bodyOf(incoming)) {
    length += chunk.length;
    if (length > limit) throw new S3Refused("EntityTooLarge", `The body is larger than ${limit} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

interface Digest {
  update(chunk: Buffer): unknown;
  /** The digest as headers write it. */
  end(): string;
}

const hashed = (hash: Hash, encoding: "hex" | "base64"): Digest => ({
  update: (chunk) => hash.update(chunk),
  end: () => hash.digest(encoding),
});

function crc(): Digest {
  let value = 0;
  return {
    update: (chunk) => {
      value = crc32(chunk, value);
    },
    end: () => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value >>> 0);
      return bytes.toString("base64");
    },
  };
}

/** The digests that can be checked here, by the header or trailer that carries them. Others are not checked. */
const DIGESTS: Record<string, () => Digest> = {
  "content-md5": () => hashed(createHash("md5"), "base64"),
  "x-amz-checksum-crc32": crc,
  "x-amz-checksum-sha1": () => hashed(createHash("sha1"), "base64"),
  "x-amz-checksum-sha256": () => hashed(createHash("sha256"), "base64"),
};

/** Compares the contents with the digests that were sent. */
export class Checks {
  readonly #expected: { name: string; digest: Digest; value: string | undefined }[];

  constructor(headers: IncomingMessage["headers"], payload: string) {
    const inTrailer = String(headers["x-amz-trailer"] ?? "").toLowerCase();
    this.#expected = Object.entries(DIGESTS)
      .filter(([name]) => headers[name] !== undefined || inTrailer.split(",").some((one) => one.trim() === name))
      .map(([name, made]) => ({ name, digest: made(), value: headers[name] as string | undefined }));
    if (/^[0-9a-f]{64}$/.test(payload))
      this.#expected.push({
        name: "x-amz-content-sha256",
        digest: hashed(createHash("sha256"), "hex"),
        value: payload,
      });
  }

  add(chunk: Buffer): void {
    for (const { digest } of this.#expected) digest.update(chunk);
  }

  end(trailers: ReadonlyMap<string, string>): void {
    for (const { name, digest, value } of this.#expected) {
      const expected = value ?? trailers.get(name);
      if (expected !== digest.end())
        throw new S3Refused("BadDigest", `The body is not the one that ${name} was computed for.`);
    }
  }
}
