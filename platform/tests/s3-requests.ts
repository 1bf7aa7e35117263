/** S3 requests byte by byte: signed as clients do, and then changed as clients do not. */
import { createHash } from "node:crypto";
import { request } from "node:http";
import { Hash } from "@smithy/hash-node";
import { SignatureV4 } from "@smithy/signature-v4";
import { timestamp } from "../src/kernel/clock.ts";
import { canonicalDigest } from "../src/surfaces/s3/canonical-request.ts";
import { REGION, type S3World } from "./s3-world.ts";

export function signerOf({ credential }: S3World) {
  const sha256 = Hash.bind(null, "sha256");
  return new SignatureV4({ credentials: credential, region: REGION, service: "s3", sha256, uriEscapePath: false });
}

export interface Sent {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  body?: string;
}

/** Sends exactly these bytes. Resolves with the status and the code of a refusal. */
export async function send({ url }: S3World, { method = "GET", path, headers = {}, query = {}, body = "" }: Sent) {
  const { hostname, port } = new URL(url);
  const search = new URLSearchParams(query).toString();
  const { promise, resolve, reject } = Promise.withResolvers<[number, string | undefined]>();
  const sending = request({ hostname, port, method, path: `${path}${search && `?${search}`}`, headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk) => chunks.push(chunk));
    response.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      resolve([response.statusCode!, /<Code>(.*?)<\/Code>/.exec(text)?.[1]]);
    });
  });
  sending.on("error", reject);
  sending.end(body);
  return promise;
}

export async function signed(
  world: S3World,
  { method = "GET", path, headers = {}, query = {}, body }: Sent,
): Promise<Sent> {
  const host = new URL(world.url).host;
  const payload =
    headers["x-amz-content-sha256"] ??
    createHash("sha256")
      .update(body ?? "")
      .digest("hex");
  const plain = {
    method,
    protocol: "http:",
    hostname: host,
    path,
    query,
    headers: { host, "x-amz-content-sha256": payload, ...headers },
  };
  const done = await signerOf(world).sign(plain, { signingDate: world.clock.now() / 1000 });
  return { method, path, query, headers: done.headers, ...(body !== undefined && { body }) };
}

/** Signs everything, even parameters that a client library cannot sign: those with names that every object has. */
export async function signedByHand(world: S3World, sent: Sent): Promise<Sent> {
  const { method = "GET", path, query = {}, body = "" } = sent;
  const time = timestamp(world.clock.now()).replace(/[-:]|\.\d{3}/g, "");
  const headers: Record<string, string> = {
    ...{ host: new URL(world.url).host, "x-amz-date": time },
    "x-amz-content-sha256": createHash("sha256").update(body).digest("hex"),
    ...sent.headers,
  };
  const signedHeaders = Object.keys(headers);
  const payload = headers["x-amz-content-sha256"]!;
  const digest = canonicalDigest({ method, path, query: Object.entries(query), headers, signedHeaders, payload });
  const scope = `${time.slice(0, 8)}/${REGION}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", time, scope, digest].join("\n");
  const signature = await signerOf(world).sign(text, { signingDate: world.clock.now() / 1000 });
  const { accessKeyId } = world.credential;
  const named = `Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders.join(";")}, Signature=${signature}`;
  return { ...sent, headers: { ...headers, authorization: `AWS4-HMAC-SHA256 ${named}` } };
}
