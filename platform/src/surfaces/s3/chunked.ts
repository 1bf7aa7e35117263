/** `aws-chunked`: a body in chunks within the body. Chunks may be signed one by one, and trailers may be signed too. */
import { createHash, hash, timingSafeEqual } from "node:crypto";
import { S3Refused } from "./refusals.ts";
import type { Verified } from "./signature.ts";

const LONGEST_LINE = 8192;
const MOST_TRAILERS = 20;
const NOTHING = hash("sha256", "", "hex");

/** Yields the bytes of the chunks, and puts the trailers into `trailers`. */
export async function* unchunked(
  body: AsyncIterable<Buffer>,
  verified: Verified,
  trailers: Map<string, string>,
): AsyncIterable<Buffer> {
  const { payload } = verified;
  if (!FORMS.includes(payload))
    throw new S3Refused("NotImplemented", `A body cannot be sent as '${payload.slice(0, 100)}'.`);
  const bytes = new Bytes(body);
  const chain = payload.includes("-AWS4-HMAC-SHA256-") ? new Chain(verified) : undefined;
  for (;;) {
    const { size, signature } = headOf(await bytes.line());
    const digest = chain && createHash("sha256");
    for await (const piece of bytes.take(size)) {
      digest?.update(piece);
      yield piece;
    }
    await chain?.next("PAYLOAD", `${NOTHING}\n${digest!.digest("hex")}`, signature);
    if (size === 0) break;
    if ((await bytes.line()) !== "") throw broken();
  }
  await readTrailers(bytes, chain, trailers);
}

const FORMS = [
  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
  "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
  "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
];

function headOf(line: string): { size: number; signature: string | undefined } {
  const [, size, signature] = /^([0-9a-f]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/i.exec(line) ?? [];
  if (size === undefined) throw broken();
  return { size: Number.parseInt(size, 16), signature };
}

async function readTrailers(bytes: Bytes, chain: Chain | undefined, trailers: Map<string, string>): Promise<void> {
  const signed: string[] = [];
  let signature: string | undefined;
  for (let line = await bytes.lineOrEnd(); line; line = await bytes.lineOrEnd()) {
    const [, name = "", value = ""] = /^([\w-]+)\s*:\s*(.*)$/.exec(line) ?? [];
    if (name === "" || trailers.size >= MOST_TRAILERS) throw broken();
    if (name.toLowerCase() === "x-amz-trailer-signature") signature = value;
    else {
      trailers.set(name.toLowerCase(), value.trim());
      signed.push(`${name.toLowerCase()}:${value.trim()}\n`);
    }
  }
  if (chain && signed.length > 0) await chain.next("TRAILER", hash("sha256", signed.join(""), "hex"), signature);
}

/** Each signature also covers the one before it. The first covers that of the request. */
class Chain {
  readonly #verified: Verified;
  #before: string;

  constructor(verified: Verified) {
    this.#verified = verified;
    this.#before = verified.signature;
  }

  async next(what: "PAYLOAD" | "TRAILER", digests: string, given: string | undefined): Promise<void> {
    const { time, scope, sign } = this.#verified;
    const expected = await sign([`AWS4-HMAC-SHA256-${what}`, time, scope, this.#before, digests].join("\n"));
    if (!given || given.length !== expected.length || !timingSafeEqual(Buffer.from(expected), Buffer.from(given)))
      throw new S3Refused("SignatureDoesNotMatch", "The signature of a chunk does not fit it.");
    this.#before = expected;
  }
}

/** Takes lines and counted bytes from chunks that may be cut anywhere. */
class Bytes {
  readonly #source: AsyncIterator<Buffer>;
  #left: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    const line = await this.lineOrEnd();
    if (line === undefined) throw broken();
    return line;
  }

  /** Undefined at the end of the body. */
  async lineOrEnd(): Promise<string | undefined> {
    for (;;) {
      const at = this.#left.indexOf("\r\n");
      if (at !== -1) {
        const line = this.#left.subarray(0, at).toString("latin1");
        this.#left = this.#left.subarray(at + 2);
        return line;
      }
      if (this.#left.length > LONGEST_LINE) throw broken();
      if (await this.#more()) continue;
      if (this.#left.length > 0) throw broken();
      return undefined;
    }
  }

  async *take(count: number): AsyncIterable<Buffer> {
    for (let missing = count; missing > 0; ) {
      if (this.#left.length === 0 && !(await this.#more())) throw broken();
      const piece = this.#left.subarray(0, missing);
      this.#left = this.#left.subarray(piece.length);
      missing -= piece.length;
      yield piece;
    }
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#source.next();
    if (done) return false;
    this.#left = this.#left.length === 0 ? value : Buffer.concat([this.#left, value]);
    return true;
  }
}

const broken = () => new S3Refused("IncompleteBody", "The body is not in the chunks that were announced.");
