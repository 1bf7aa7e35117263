/** Finds what a request is addressed to: the place of S3 on this server, a bucket, a key. */
import type { IncomingHttpHeaders } from "node:http";
import { isForm } from "./form.ts";
import { S3Refused } from "./refusals.ts";

export interface S3Address {
  /** Undefined for the list of buckets. */
  bucket: string | undefined;
  /** Empty for the bucket itself. */
  key: string;
  /** The path as a signature names it: decoded, then encoded again in the canonical way. */
  canonicalPath: string;
  /** `/s3` if S3 is below that path, and empty if it is at the root. */
  below: string;
  query: ReadonlyMap<string, string>;
}

/** Every host of the server serves S3 below this path. */
const S3_PATH = "/s3";
const HOST_LABEL = "s3";

/**
 * Whether a request is for S3: below its path, or on its own host, which serves nothing else. At the root of another host the signature
 * shows it. Some clients accept no path in an endpoint, and the name of S3's host may not resolve.
 */
export function isS3(request: Addressed, domain: string | undefined): boolean {
  const { url, headers } = request;
  return (
    isBelow(url) ||
    isS3Host(headers.host, domain) ||
    (isSignedForS3(request) && BUCKET_AT_ROOT.test(url) && !isSubdomain(headers.host, domain))
  );
}

interface Addressed {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
}

const isBelow = (url: string) => url === S3_PATH || url.startsWith(`${S3_PATH}/`) || url.startsWith(`${S3_PATH}?`);

function isSignedForS3({ method, url, headers }: Addressed): boolean {
  const { authorization } = headers;
  if (authorization !== undefined) return authorization.startsWith("AWS4-HMAC-SHA256 ");
  return url.includes("X-Amz-Signature=") || (method === "POST" && isForm(headers["content-type"]));
}

/** A volume's or Pod's id, which no other path of the server looks like, or the list of buckets. */
const BUCKET_AT_ROOT = /^\/([a-z0-9]{10,}(?=[/?]|$)|(?=\?|$))/;

/** These hosts belong to Pods and endpoints, whose programs may accept signatures of their own. */
function isSubdomain(host = "", domain: string | undefined): boolean {
  const name = host.toLowerCase().replace(/:\d+$/, "");
  return name.endsWith(".localhost") || (domain !== undefined && name.endsWith(`.${domain}`));
}

function isS3Host(host: string | undefined, domain: string | undefined): boolean {
  if (!host?.toLowerCase().startsWith(`${HOST_LABEL}.`)) return false;
  const name = host.toLowerCase().replace(/:\d+$/, "");
  return name === `${HOST_LABEL}.localhost` || (domain !== undefined && name === `${HOST_LABEL}.${domain}`);
}

export function addressOf(url: string, host: string | undefined, domain: string | undefined): S3Address {
  const [path = "", search = ""] = splitAt(url, "?");
  const decoded = path.split("/").map(decode);
  const below = isBelow(url) && !isS3Host(host, domain) ? S3_PATH : "";
  const names = decoded.slice(below === "" ? 1 : 2);
  const [bucket, ...rest] = names;
  return {
    bucket: bucket || undefined,
    key: rest.join("/"),
    below,
    canonicalPath: decoded.map(uriEncoded).join("/"),
    query: new Map(new URLSearchParams(search)),
  };
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new S3Refused("InvalidRequest", "The path is not valid percent-encoded UTF-8.");
  }
}

/** Encodes as RFC 3986: everything but letters, digits and four marks. */
export const uriEncoded = (part: string) =>
  encodeURIComponent(part).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

/** A key as the names of its folders and file. `isFolder` is set if it ends with a slash. */
export interface ObjectPath {
  names: string[];
  isFolder: boolean;
}

const LONGEST_KEY = 1024;
const LONGEST_NAME = 255;

export function pathOf(key: string): ObjectPath {
  if (Buffer.byteLength(key) > LONGEST_KEY)
    throw new S3Refused("KeyTooLongError", `A key may have ${LONGEST_KEY} bytes.`);
  const isFolder = key.endsWith("/");
  const names = (isFolder ? key.slice(0, -1) : key).split("/");
  if (names.some((name) => name === "" || name === "." || name === ".." || name.includes("\0")))
    throw new S3Refused(
      "InvalidArgument",
      `'${key}' cannot be a file of a volume: a part of it is empty, '.' or '..'.`,
    );
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME))
    throw new S3Refused("KeyTooLongError", `A part of a key between two slashes may have ${LONGEST_NAME} bytes.`);
  return { names, isFolder };
}
