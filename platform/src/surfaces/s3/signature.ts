/** Verifies who signed a request with AWS Signature Version 4, in its headers or in its query. */
import { timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { Hash } from "@smithy/hash-node";
import { SignatureV4 } from "@smithy/signature-v4";
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { canonicalDigest } from "./canonical-request.ts";
import { S3Refused } from "./refusals.ts";

export interface SignedRequest {
  method: string;
  headers: IncomingHttpHeaders;
  canonicalPath: string;
  /** The start of the path, if S3 is not at the root. */
  below: string;
  query: ReadonlyMap<string, string>;
}

/** What a request claims about its signature. */
export interface Claim {
  accessKeyId: string;
  /** From the scope: a day such as `20261116`, the region and the service. */
  day: string;
  region: string;
  signedHeaders: string[];
  signature: string;
  signedAt: number;
  /** For a presigned URL, how long it is valid. */
  expiresS?: number;
  /** The digest of the body, or one of S3's words in its place. */
  payload: string;
}

/** A request with a valid signature, and what signs the pieces of its body. */
export interface Verified {
  payload: string;
  signature: string;
  /** Signs a text with the same key, day and region. */
  sign(text: string): Promise<string>;
  /** Day and region as the texts to be signed name them. */
  scope: string;
  /** The time of the request as the texts to be signed name it. */
  time: string;
}

const ALGORITHM = "AWS4-HMAC-SHA256";
const SHA256_HEADER = "x-amz-content-sha256";
const UNSIGNED = "UNSIGNED-PAYLOAD";
/** For a form, whose signature is among its fields. */
export const UNSIGNED_BODY: Verified = { payload: UNSIGNED, signature: "", scope: "", time: "", sign: async () => "" };
const SKEW_MS = 15 * 60_000;
const LONGEST_S = 7 * 86_400;
const PAYLOADS = new RegExp(`^([0-9a-f]{64}|${UNSIGNED}|STREAMING-.*)$`);
const MOST_SIGNED = 200;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,200}$/;

const Sha256 = Hash.bind(null, "sha256");

export function claimOf(request: SignedRequest): Claim {
  const claim = claimIn(request);
  refuseUnsigned(request.headers, claim);
  if (!PAYLOADS.test(claim.payload))
    throw new S3Refused(
      "InvalidArgument",
      `${SHA256_HEADER} must be the SHA-256 of the body in 64 hexadecimal digits, ${UNSIGNED}, or a word that begins with STREAMING-.`,
    );
  return claim;
}

function claimIn({ headers, query }: SignedRequest): Claim {
  const header = headers.authorization;
  if (header !== undefined) return claimInHeader(header, headers);
  if (query.has("X-Amz-Signature")) return claimInQuery(query, headers);
  if (query.has("AWSAccessKeyId"))
    throw new S3Refused("AccessDenied", "The URL is signed by Signature Version 2. Sign it by Version 4.");
  throw new S3Refused("AccessDenied", "The request is not signed: use an S3 key of the account (/v2/account/s3-keys).");
}

/**
 * `x-amz-` headers change what a request does, so they must be signed. Otherwise anyone with a presigned URL could add one that makes it
 * copy other files to its key. Some clients send the digest of the body with a presigned URL without listing it. That is safe, since the
 * digest is part of what is signed.
 */
function refuseUnsigned(headers: IncomingHttpHeaders, { signedHeaders, expiresS }: Claim): void {
  const isSigned = new Set(signedHeaders);
  if (expiresS !== undefined) isSigned.add(SHA256_HEADER);
  const unsigned = Object.keys(headers).filter((name) => name.startsWith("x-amz-") && !isSigned.has(name));
  if (unsigned.length === 0) return;
  const names = unsigned.join(", ");
  throw new S3Refused(
    "AccessDenied",
    `There were headers present in the request which were not signed: ${names}. Sign them, or leave them out.`,
    { HeadersNotSigned: names },
  );
}

function claimInHeader(header: string, headers: IncomingHttpHeaders): Claim {
  if (header.startsWith("AWS "))
    throw new S3Refused("AccessDenied", "The request is signed by Signature Version 2. Sign it by Version 4.");
  const [, fields = ""] = new RegExp(`^${ALGORITHM}\\s+(.*)$`, "s").exec(header) ?? [];
  const named = new Map(fields.split(",").map((field) => field.trim().split("=", 2) as [string, string]));
  const payload = headers[SHA256_HEADER];
  if (typeof payload !== "string")
    throw new S3Refused("MissingSecurityHeader", `The request has no ${SHA256_HEADER} header.`);
  return {
    ...scopeOf(named.get("Credential")),
    ...signedBy(named.get("SignedHeaders"), named.get("Signature")),
    signedAt: timeOf(headers["x-amz-date"]),
    payload,
  };
}

function claimInQuery(query: ReadonlyMap<string, string>, headers: IncomingHttpHeaders): Claim {
  const expires = query.get("X-Amz-Expires") ?? "";
  if (query.get("X-Amz-Algorithm") !== ALGORITHM || !/^\d{1,6}$/.test(expires) || Number(expires) > LONGEST_S)
    throw malformed(`a presigned URL needs X-Amz-Algorithm=${ALGORITHM}, and X-Amz-Expires up to ${LONGEST_S}`);
  return {
    ...scopeOf(query.get("X-Amz-Credential")),
    ...signedBy(query.get("X-Amz-SignedHeaders"), query.get("X-Amz-Signature")),
    signedAt: timeOf(query.get("X-Amz-Date")),
    expiresS: Number(expires),
    payload: query.get("X-Amz-Content-Sha256") ?? textOf(headers[SHA256_HEADER]) ?? UNSIGNED,
  };
}

function scopeOf(credential = ""): Pick<Claim, "accessKeyId" | "day" | "region"> {
  const [, accessKeyId, day, region] =
    /^([A-Z0-9]{16,128})\/(\d{8})\/([\w-]{1,64})\/s3\/aws4_request$/.exec(credential) ?? [];
  if (!accessKeyId || !day || !region)
    throw malformed("the credential must be <access key id>/<day>/<region>/s3/aws4_request");
  return { accessKeyId, day, region };
}

function signedBy(list = "", signature = ""): Pick<Claim, "signedHeaders" | "signature"> {
  const signedHeaders = list.split(";");
  if (!signedHeaders.includes("host") || !/^[0-9a-f]{64}$/.test(signature))
    throw malformed("it needs SignedHeaders with host among them, and a Signature of 64 hexadecimal digits");
  if (signedHeaders.length > MOST_SIGNED || !signedHeaders.every((name) => HEADER_NAME.test(name)))
    throw malformed(`SignedHeaders must be up to ${MOST_SIGNED} names of headers in small letters, separated by ';'`);
  return { signedHeaders, signature };
}

function timeOf(text: string | string[] | undefined): number {
  const iso = (textOf(text) ?? "").replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, "$1-$2-$3T$4:$5:$6Z");
  const time = parseTimestamp(iso);
  if (time === undefined) throw malformed("x-amz-date must be written as 20261116T093000Z");
  return time;
}

/** The time as signatures write it: `20261116T093000Z`. */
const basicTime = (ms: number) => timestamp(ms).replace(/[-:]|\.\d{3}/g, "");

const textOf = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(",") : value);

const malformed = (why: string) =>
  new S3Refused("AuthorizationHeaderMalformed", `The signature cannot be read: ${why}.`);

/** What a form claims about its policy's signature. The policy stands for the whole form, since its conditions bind the rest. */
export function formClaim(fields: ReadonlyMap<string, string>): Claim {
  if (!fields.has("policy"))
    throw new S3Refused("AccessDenied", "The form is not signed: it has no 'policy' (a presigned POST has one).");
  if (fields.get("x-amz-algorithm") !== ALGORITHM)
    throw malformed(`a form needs x-amz-algorithm, which must be ${ALGORITHM}`);
  return {
    ...scopeOf(fields.get("x-amz-credential")),
    ...signedBy("host", fields.get("x-amz-signature")),
    signedAt: timeOf(fields.get("x-amz-date")),
    payload: UNSIGNED,
  };
}

/** Throws if the request was not signed with this secret, or not recently. */
export async function verify(request: SignedRequest, claim: Claim, secret: string, now: number): Promise<Verified> {
  refuseWrongTime(claim, now);
  const time = basicTime(claim.signedAt);
  const scope = `${claim.day}/${claim.region}/s3/aws4_request`;
  const sign = signerOf(claim, secret);
  for (const form of formsOf(request)) {
    const signature = await sign([ALGORITHM, time, scope, digestOf(form, claim)].join("\n"));
    if (isSame(signature, claim.signature)) return { payload: claim.payload, signature, scope, time, sign };
  }
  throw mismatch("request");
}

/** The policy itself says until when the form is valid. */
export async function verifyForm(claim: Claim, policy: string, secret: string, now: number): Promise<Verified> {
  refuseWrongTime({ ...claim, expiresS: Number.POSITIVE_INFINITY }, now);
  const sign = signerOf(claim, secret);
  const signature = await sign(policy);
  if (!isSame(signature, claim.signature)) throw mismatch("policy of the form");
  const scope = `${claim.day}/${claim.region}/s3/aws4_request`;
  return { payload: claim.payload, signature, scope, time: basicTime(claim.signedAt), sign };
}

function signerOf({ accessKeyId, region, signedAt }: Claim, secret: string): Verified["sign"] {
  const credentials = { accessKeyId, secretAccessKey: secret };
  const signer = new SignatureV4({ credentials, region, service: "s3", sha256: Sha256 });
  // In whole seconds, since signatures have no fractions.
  return (text) => signer.sign(text, { signingDate: signedAt / 1000 });
}

const isSame = (a: string, b: string) => timingSafeEqual(Buffer.from(a), Buffer.from(b));

const mismatch = (what: string) =>
  new S3Refused("SignatureDoesNotMatch", `The signature does not fit the ${what}: check the secret access key.`);

/**
 * The request as it came, and then in the forms in which it may have been signed. Some clients count S3's path as part of the host, and
 * some are behind a proxy that adds the path. All forms name the same object.
 */
function* formsOf(request: SignedRequest): Iterable<SignedRequest> {
  yield request;
  const { below, canonicalPath, headers } = request;
  if (below === "") return;
  const short = { ...request, canonicalPath: canonicalPath.slice(below.length) || "/" };
  yield { ...short, headers: { ...headers, host: `${headers.host}${below}` } };
  yield short;
}

function refuseWrongTime({ signedAt, day, expiresS }: Claim, now: number): void {
  if (!basicTime(signedAt).startsWith(day)) throw malformed("its day is not that of x-amz-date");
  if (expiresS === undefined ? Math.abs(now - signedAt) > SKEW_MS : signedAt - now > SKEW_MS)
    throw new S3Refused(
      "RequestTimeTooSkewed",
      "The time of the request and that of the server are more than 15 minutes apart.",
    );
  if (expiresS !== undefined && now >= signedAt + expiresS * 1000)
    throw new S3Refused("AccessDenied", "The presigned URL has expired.");
}

function digestOf({ method, headers, canonicalPath: path, query: given }: SignedRequest, claim: Claim): string {
  const { signedHeaders, payload } = claim;
  const query = [...given].filter(([name]) => name !== "X-Amz-Signature");
  return canonicalDigest({ method, path, query, headers, signedHeaders, payload });
}
