/** The files of a volume of the source over its S3-compatible API: signed lists and reads, each with a limit. */

import { type Clock, parseTimestamp, timestamp } from "@millrace/platform/kernel/clock.ts";
import { Hash } from "@smithy/hash-node";
import { SignatureV4 } from "@smithy/signature-v4";
import { XMLParser } from "fast-xml-parser";
import { Failure } from "../failure.ts";
import { type Received, request, textOf } from "../http.ts";
import type { FileFact } from "../volume-paths.ts";
import { type Fields, isFields, shown } from "./definition.ts";

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
}

export interface Bucket {
  /** Where S3 is. `{dataCenter}` in it stands for the volume's data center, in small letters. */
  endpoint: string;
  keys: S3Keys;
  /** The id of the volume. */
  bucket: string;
  dataCenter: string;
  clock: Clock;
}

/** A file that the source lists and does not give as listed. Others may come. */
export class NotGiven extends Error {}

/** One page of a list has at most 1000 keys, each of at most 1 KB, with some 500 bytes around it. */
const LONGEST_PAGE = 8 * 1024 * 1024;
const MOST_FILES = 1_000_000;
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
});

/** Every file of the bucket. Keys that end with a slash are folders, which come with their files. */
export async function* objectsIn(bucket: Bucket): AsyncGenerator<FileFact> {
  let token: string | undefined;
  for (let count = 0; ; ) {
    const query: Record<string, string> = { "list-type": "2", "encoding-type": "url", "max-keys": "1000" };
    if (token !== undefined) query["continuation-token"] = token;
    const answer = await get(bucket, "", query);
    const text = await textOf(answer, LONGEST_PAGE);
    if (answer.status !== 200) throw refused(bucket, answer.status, text);
    const page = listIn(text, bucket);
    for (const file of page.files) {
      if (file.name.endsWith("/")) continue;
      if (++count > MOST_FILES) throw odd(bucket, `more than ${MOST_FILES} files`);
      yield file;
    }
    if (page.next === undefined) return;
    if (page.next === token || page.files.length === 0) throw odd(bucket, "pages that do not end");
    token = page.next;
  }
}

/** Opens a file of the bucket. Throws `NotGiven` unless it has the size that the list said. */
export async function openObject(bucket: Bucket, { name, size }: FileFact): Promise<Received> {
  if (name.split("/").some((part) => part === "" || part === "." || part === ".."))
    throw new NotGiven("its name is no path on a volume here");
  const answer = await get(bucket, name);
  if (answer.status === 200 && Number(answer.headers["content-length"]) === size) return answer;
  answer.body.destroy();
  if (answer.status !== 200) throw new NotGiven(`the source answered ${answer.status}`);
  throw new NotGiven("it changed at the source meanwhile, or its length is not said; run the same again");
}

async function get(bucket: Bucket, key: string, query: Record<string, string> = {}): Promise<Received> {
  const { endpoint, keys, clock, dataCenter } = bucket;
  const base = new URL(endpoint.replaceAll("{dataCenter}", dataCenter.toLowerCase()));
  const path = [base.pathname.replace(/\/+$/, ""), bucket.bucket, ...(key === "" ? [] : key.split("/"))]
    .map((part, at) => (at === 0 ? part : escaped(part)))
    .join("/");
  const signer = new SignatureV4({
    ...{
      service: "s3",
      region: dataCenter,
      credentials: keys,
      sha256: Hash.bind(null, "sha256"),
      uriEscapePath: false,
    },
  });
  const signed = await signer.sign(
    {
      ...{ method: "GET", protocol: base.protocol, hostname: base.hostname, path, query },
      headers: { host: base.host, "x-amz-content-sha256": EMPTY_SHA256 },
    },
    { signingDate: timestamp(clock.now()) },
  );
  const url = new URL(base.origin);
  url.pathname = path;
  url.search = Object.entries(query)
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .join("&");
  return request(url, { headers: signed.headers });
}

const escaped = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

function listIn(text: string, bucket: Bucket): { files: FileFact[]; next: string | undefined } {
  const list = parsed(text);
  if (!list) throw odd(bucket, "no list of files");
  const contents = [list.Contents ?? []].flat();
  const files = contents.map((one): FileFact => {
    const { Key, Size, LastModified } = isFields(one) ? one : {};
    const [name, size] = [decoded(Key, list.EncodingType === "url"), Number(Size)];
    if (name === undefined || name === "" || !Number.isSafeInteger(size) || size < 0) throw odd(bucket, "an odd file");
    return { name, size, modifiedMs: parseTimestamp(String(LastModified)) ?? 0 };
  });
  const isCut = list.IsTruncated === "true";
  const token = list.NextContinuationToken;
  return { files, next: isCut && typeof token === "string" && token.length <= 4096 ? token : undefined };
}

function parsed(text: string): Fields | undefined {
  // No server sends a document type, and its entities could expand to much more than was sent.
  if (/<!(DOCTYPE|ENTITY)/i.test(text)) return undefined;
  try {
    const { ListBucketResult: list } = parser.parse(text, true) as Fields;
    return isFields(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

function decoded(key: unknown, isEncoded: boolean): string | undefined {
  if (typeof key !== "string" || key.length > 8192) return undefined;
  if (!isEncoded) return key;
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function refused({ bucket, endpoint }: Bucket, status: number, text: string): Failure {
  const [, code = ""] = /<Code>([\w.]{1,64})<\/Code>/.exec(text) ?? [];
  const why = code && ` (${code})`;
  return new Failure(
    `${endpoint} answered ${status}${why} for volume ${shown(bucket)}. Check --s3-endpoint and the S3 key.`,
  );
}

const odd = ({ bucket }: Bucket, what: string) =>
  new Failure(`the S3 API of the source answered with ${what} for volume ${shown(bucket)}`);
