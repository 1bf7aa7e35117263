/** Answers S3 clients: finds out who signed a request, does what it asks for, and formats refusals. */
import type { Clock } from "../../kernel/clock.ts";
import { requestId } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import { isOutOfDescriptors, outOfDescriptors } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { S3Credential, S3KeyService } from "../../resources/s3-keys/service.ts";
import type { Doorkeeper } from "../http/doorkeeper.ts";
import { writeHead } from "../http/head.ts";
import { REASON_HEADER } from "../http/refusal.ts";
import type { Reply, Request } from "../http/reply.ts";
import { addressOf } from "./address.ts";
import { bodyOf } from "./body.ts";
import {
  bucketLocation,
  bucketVersioning,
  createBucket,
  deleteObjects,
  headBucket,
  listBuckets,
  listObjects,
} from "./bucket-operations.ts";
import type { Bucket, Buckets } from "./buckets.ts";
import { type Answer, S3Call } from "./call.ts";
import { completeUpload } from "./completing.ts";
import { mayPass, passOn } from "./elsewhere.ts";
import { formFrom, isForm } from "./form.ts";
import { finish, hasBegun } from "./long-answer.ts";
import { copyObject, deleteObject, getObject, objectTags, putObject } from "./objects.ts";
import { postObject } from "./post-object.ts";
import { refusalFrom, S3Refused } from "./refusals.ts";
import { type Claim, claimOf, formClaim, UNSIGNED_BODY, verify, verifyForm } from "./signature.ts";
import { abortUpload, createUpload, listParts, listUploads, uploadPart } from "./uploads.ts";
import { errorXml } from "./xml.ts";

export interface S3SurfaceParts {
  clock: Clock;
  random: Random;
  log: Log;
  doorkeeper: Doorkeeper;
  keys: S3KeyService;
  buckets: Buckets;
  /** `s3.<domain>` is S3's own host. */
  domain?: string | undefined;
}

export class S3Answers {
  readonly #parts: S3SurfaceParts;

  constructor(parts: S3SurfaceParts) {
    this.#parts = parts;
  }

  async answer(request: Request, reply: Reply): Promise<void> {
    const { clock, random, log } = this.#parts;
    const startedMs = clock.monotonic();
    const id = requestId(random);
    reply.header("x-amz-request-id", id).header("X-Request-Id", id);
    let credential: S3Credential | undefined;
    try {
      const found = (one: S3Credential) => {
        credential = one;
      };
      const answer = isPost(request)
        ? await this.#performForm(request, reply, found)
        : await this.#perform(await this.#admit(request, reply, found));
      if (answer) send(request, reply, answer);
    } catch (error) {
      this.#refuse(error, id, request, reply);
    } finally {
      const who = credential && { account: credential.account, key: credential.key };
      const [path] = request.url.split("?", 1);
      const ms = Math.round(clock.monotonic() - startedMs);
      log.info({ requestId: id, method: request.method, path, status: reply.status, ms, ...who }, "request");
    }
  }

  /** Where the files are on another node's machine, that node answers. */
  async #perform(call: S3Call): Promise<Answer | undefined> {
    try {
      return await perform(call);
    } catch (error) {
      if (!mayPass(call.request, error, call.address.bucket)) throw error;
      return void (await passOn(call.request, call.reply, error.node, this.#parts.clock));
    }
  }

  async #admit(request: Request, reply: Reply, found: (credential: S3Credential) => void): Promise<S3Call> {
    const { clock, doorkeeper, domain } = this.#parts;
    const { method, headers, url } = request;
    const address = addressOf(url, headers.host, domain);
    const signed = { method, headers, ...address };
    const claim = claimOf(signed);
    const credential = await this.#credentialOf(claim);
    const verified = await verify(signed, claim, credential.secret, clock.now());
    const { account } = credential;
    doorkeeper.admit(request.socket, account);
    found(credential);
    return new S3Call(this.#parts, { account, address, request, reply, verified, region: claim.region });
  }

  /** The fields of a form say who signed it, so they are read before authentication. They are few and small. */
  async #performForm(request: Request, reply: Reply, found: (credential: S3Credential) => void): Promise<Answer> {
    const { clock, doorkeeper, domain } = this.#parts;
    const { headers, url } = request;
    const address = addressOf(url, headers.host, domain);
    const body = bodyOf({ request, response: reply.raw, clock, verified: UNSIGNED_BODY });
    const form = await formFrom(headers["content-type"], body);
    const claim = formClaim(form.fields);
    const credential = await this.#credentialOf(claim);
    const policy = form.fields.get("policy") ?? "";
    const verified = await verifyForm(claim, policy, credential.secret, clock.now());
    const { account } = credential;
    doorkeeper.admit(request.socket, account);
    found(credential);
    const call = new S3Call(this.#parts, { account, address, request, reply, verified, region: claim.region });
    if (address.bucket === undefined || address.key !== "") return refuseMethod(call);
    return postObject(call, form, call.filesIn(await call.bucket(address.bucket)));
  }

  async #credentialOf({ accessKeyId }: Claim): Promise<S3Credential> {
    const credential = await this.#parts.keys.find(accessKeyId);
    if (!credential) throw new S3Refused("InvalidAccessKeyId", "There is no S3 key with this access key id.");
    return credential;
  }

  /** Refuses a request. An unforeseen error only names the id of its log line. An answer that has begun is broken off. */
  #refuse(error: unknown, id: string, request: Request, reply: Reply): void {
    const known = refusalFrom(isOutOfDescriptors(error) ? outOfDescriptors(error) : error);
    if ((reply.raw.headersSent && !hasBegun(reply)) || reply.raw.destroyed) {
      reply.raw.destroy();
      return;
    }
    if (!known) this.#parts.log.error({ requestId: id, err: error }, "unforeseen fault");
    const fault = `An unexpected error occurred. It is in the server's log under the id ${id}.`;
    const { status, code, message, also, reason } = known ?? new S3Refused("InternalError", fault);
    const headers = {
      "Content-Type": "application/xml",
      [REASON_HEADER]: reason,
      ...(also.ETag && { ETag: also.ETag }),
    };
    const [path = ""] = request.url.split("?", 1);
    const xml = errorXml({ Code: code, Message: message, ...also, Resource: path, RequestId: id });
    send(
      request,
      reply,
      status === 304 ? { status, headers: { ETag: also.ETag ?? "" } } : { status, headers, body: xml },
    );
  }
}

/** A request with a form carries no other signature. */
const isPost = ({ method, headers }: Request) =>
  method === "POST" && headers.authorization === undefined && isForm(headers["content-type"]);

function send(request: Request, reply: Reply, { status = 200, headers = {}, body }: Answer): void {
  if (hasBegun(reply)) {
    finish(reply, body!);
    return;
  }
  reply.code(status);
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
  if (request.method !== "HEAD" && status !== 304) {
    reply.send(body);
    return;
  }
  // The content length of HEAD is that of a GET. For a refusal no one needs it.
  writeHead(reply.raw, status, reply.headers);
  reply.raw.end();
}

/** Parts of S3 that volumes do not have. */
const UNKNOWN = [
  ...["accelerate", "acl", "analytics", "attributes", "cors", "encryption", "intelligent-tiering", "inventory"],
  ...["legal-hold", "lifecycle", "logging", "metrics", "notification", "object-lock", "ownershipControls", "policy"],
  ...[
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "tagging",
  ],
  ...["torrent", "versioning", "versions", "website"],
];

async function perform(call: S3Call): Promise<Answer | undefined> {
  const { method } = call.request;
  const { bucket: id, key } = call.address;
  if (id === undefined) return method === "GET" ? listBuckets(call) : refuseMethod(call);
  if (key !== "" && method === "GET" && call.has("tagging"))
    return objectTags(call, call.filesIn(await call.bucket(id)));
  if (key === "" && method === "GET" && call.has("versioning")) return bucketVersioning(await call.bucket(id));
  const word = UNKNOWN.find((name) => call.has(name));
  if (word) throw new S3Refused("NotImplemented", `Volumes have no '${word}'.`);
  if (key === "" && method === "PUT") return createBucket(call, id);
  if (key === "" && method === "DELETE")
    throw new S3Refused("NotImplemented", "Buckets are network volumes: delete them at /v2/network-volumes.");
  const bucket = await call.bucket(id);
  return key === "" ? performOnBucket(call, bucket) : performOnObject(call, bucket);
}

async function performOnBucket(call: S3Call, bucket: Bucket): Promise<Answer> {
  const { method } = call.request;
  if (method === "HEAD") return headBucket(bucket);
  if (method === "GET" && call.has("location")) return bucketLocation(bucket);
  if (method === "GET" && call.has("uploads")) return listUploads(call, call.filesIn(bucket));
  if (method === "GET") return listObjects(call, bucket, call.filesIn(bucket));
  if (method === "POST" && call.has("delete")) return deleteObjects(call, call.filesIn(bucket));
  return refuseMethod(call);
}

async function performOnObject(call: S3Call, bucket: Bucket): Promise<Answer | undefined> {
  const files = call.filesIn(bucket);
  const isOfUpload = call.has("uploadId");
  switch (call.request.method) {
    case "GET":
    case "HEAD":
      return isOfUpload ? listParts(call, files) : getObject(call, files);
    case "PUT":
      if (isOfUpload || call.has("partNumber")) return uploadPart(call, files);
      return call.header("x-amz-copy-source") === undefined ? putObject(call, files) : copyObject(call, files);
    case "DELETE":
      return isOfUpload ? abortUpload(call, files) : deleteObject(call, files);
    case "POST":
      if (call.has("uploads")) return createUpload(call, files);
      return isOfUpload ? completeUpload(call, files) : refuseMethod(call);
    default:
      return refuseMethod(call);
  }
}

function refuseMethod({ request }: S3Call): never {
  throw new S3Refused("MethodNotAllowed", `Nothing is done here by ${request.method}.`);
}
