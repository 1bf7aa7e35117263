/** Refusals in the form of S3: a status, a code that clients compare, and the reason. */
import { isProblem, type Meaning } from "../../kernel/problem.ts";
import type { ReasonCode } from "../../kernel/reason.ts";
import { type FileRefusal, FileRefused } from "../../ports/files/files.ts";

/** The codes of S3, each with its status. */
const STATUSES = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  BadDigest: 400,
  BucketAlreadyOwnedByYou: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidPolicyDocument: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  KeyTooLongError: 400,
  MalformedPOSTRequest: 400,
  MalformedXML: 400,
  MaxPostPreDataLengthExceeded: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  MissingSecurityHeader: 400,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  NotModified: 304,
  PreconditionFailed: 412,
  RequestTimeout: 400,
  RequestTimeTooSkewed: 403,
  ServiceUnavailable: 503,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
} as const;

export type S3Code = keyof typeof STATUSES;

/** The reason codes that other surfaces use. A code that is missing here means a wrong request. */
const REASONS: Partial<Record<S3Code, ReasonCode>> = {
  AccessDenied: "not-allowed",
  BucketAlreadyOwnedByYou: "name-taken",
  EntityTooLarge: "too-large",
  InsufficientStorage: "disk-full",
  InternalError: "fault",
  InvalidAccessKeyId: "key-unknown",
  InvalidRange: "outside-range",
  KeyTooLongError: "too-large",
  MalformedXML: "unreadable",
  MetadataTooLarge: "too-large",
  MethodNotAllowed: "wrong-method",
  NoSuchBucket: "not-found",
  NoSuchKey: "not-found",
  NoSuchUpload: "not-found",
  PreconditionFailed: "conflicting",
  RequestTimeout: "too-slow",
  RequestTimeTooSkewed: "unauthenticated",
  ServiceUnavailable: "unavailable",
  SignatureDoesNotMatch: "unauthenticated",
  SlowDown: "too-much",
};

export class S3Refused extends Error {
  readonly code: S3Code;
  readonly status: number;
  /** Further fields that clients read in addition to the message. */
  readonly also: Readonly<Record<string, string>>;

  /** The reason code that other surfaces use. */
  readonly reason: ReasonCode;

  constructor(code: S3Code, message: string, also: Readonly<Record<string, string>> = {}, reason?: ReasonCode) {
    super(message);
    this.reason = reason ?? REASONS[code] ?? "invalid";
    this.code = code;
    this.status = STATUSES[code];
    this.also = also;
  }
}

const OF_FILES: Record<FileRefusal, S3Code> = {
  taken: "InvalidRequest",
  "no-folder": "InvalidRequest",
  full: "InsufficientStorage",
  "long-name": "KeyTooLongError",
  forbidden: "AccessDenied",
};

const OF_PROBLEMS: Partial<Record<Meaning, S3Code>> = {
  unreadable: "InvalidRequest",
  "rule-broken": "InvalidRequest",
  "too-large": "EntityTooLarge",
  "too-slow": "RequestTimeout",
  "too-much": "SlowDown",
  unavailable: "ServiceUnavailable",
  "not-allowed": "AccessDenied",
};

/** Undefined for an unforeseen error. */
export function refusalFrom(error: unknown): S3Refused | undefined {
  if (error instanceof S3Refused) return error;
  if (error instanceof FileRefused) return new S3Refused(OF_FILES[error.reason], error.message);
  if (!isProblem(error)) return undefined;
  const code = OF_PROBLEMS[error.code];
  return code && new S3Refused(code, error.message, {}, error.reason);
}
