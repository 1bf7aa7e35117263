/** One authenticated S3 request, and the answer of an operation. */
import type { Clock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import type { Files } from "../../ports/files/files.ts";
import type { Reply, Request } from "../http/reply.ts";
import type { S3Address } from "./address.ts";
import { bodyOf, textOf } from "./body.ts";
import type { Bucket, Buckets } from "./buckets.ts";
import { FilesElsewhere } from "./elsewhere.ts";
import { S3Refused } from "./refusals.ts";
import type { Verified } from "./signature.ts";
import { type Xml, xmlOf } from "./xml.ts";

export interface S3Parts {
  clock: Clock;
  random: Random;
  buckets: Buckets;
  /** An upload without new parts for this long is removed; 7 by default. */
  uploadDays?: number | undefined;
}

/** What the caller of an operation should send. If an operation returns nothing, it has sent the answer itself. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}

const MOST_XML = 2 * 1024 * 1024;

export class S3Call {
  readonly parts: S3Parts;
  readonly account: string;
  readonly address: S3Address;
  readonly request: Request;
  readonly reply: Reply;
  readonly #verified: Verified;
  readonly #region: string;

  constructor(
    parts: S3Parts,
    given: { account: string; address: S3Address; request: Request; reply: Reply; verified: Verified; region: string },
  ) {
    this.parts = parts;
    this.account = given.account;
    this.address = given.address;
    this.request = given.request;
    this.reply = given.reply;
    this.#verified = given.verified;
    this.#region = given.region;
  }

  /** A parameter of the query, or undefined. */
  word(name: string): string | undefined {
    return this.address.query.get(name);
  }

  has(name: string): boolean {
    return this.address.query.has(name);
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(",") : value;
  }

  get isGone(): boolean {
    return this.reply.raw.destroyed;
  }

  body(): AsyncIterable<Buffer> {
    return bodyOf(this.#incoming());
  }

  text(): Promise<string> {
    return textOf(this.#incoming(), MOST_XML);
  }

  /** Finds a bucket of the account. It must be in the region that the request was signed for, unless it is only copied from. */
  async bucket(id: string, { anywhere = false } = {}): Promise<Bucket> {
    const bucket = await this.parts.buckets.find(this.account, id);
    if (!bucket) throw new S3Refused("NoSuchBucket", `There is no bucket '${id}': a bucket is a network volume's id.`);
    const { region } = bucket;
    if (anywhere || region.toLowerCase() === this.#region.toLowerCase()) return bucket;
    const why = `The bucket is in the region '${region}', and the request is signed for '${this.#region}'.`;
    throw new S3Refused("AuthorizationHeaderMalformed", why, { Region: region });
  }

  /** Throws if the files are on another machine. */
  filesIn({ id, files }: Bucket): Files {
    if (!("away" in files)) return files;
    throw files.node ? new FilesElsewhere(files.away, id, files.node) : new S3Refused("ServiceUnavailable", files.away);
  }

  #incoming() {
    return { request: this.request, response: this.reply.raw, clock: this.parts.clock, verified: this.#verified };
  }
}

export const xmlAnswer = (name: string, content: Xml): Answer => ({
  headers: { "Content-Type": "application/xml" },
  body: xmlOf(name, content),
});

/** Reads a whole number from the query, within bounds, or returns the default. */
export function numberIn(call: S3Call, name: string, standard: number, [least, most]: [number, number]): number {
  const text = call.word(name);
  if (text === undefined || text === "") return standard;
  if (!/^\d{1,9}$/.test(text) || Number(text) < least)
    throw new S3Refused("InvalidArgument", `'${name}' must be a whole number from ${least} on.`);
  return Math.min(Number(text), most);
}
