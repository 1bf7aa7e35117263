/** Turns the body of /run or /runsync into a submission: parsed once, validated, and stored unchanged. */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type FindCredentials, sealCredential } from "../../jobs/credential.ts";
import type { Submission } from "../../jobs/engine.ts";
import type { PayloadLimits } from "../../jobs/payload-limits.ts";
import { readRequest } from "../../jobs/request.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseKeptJson } from "../../kernel/json.ts";
import { problem } from "../../kernel/problem.ts";
import type { Payload } from "../../ports/queue/job.ts";
import type { Vault } from "../../ports/vault/vault.ts";
import { bodyAtHand, readBody, refuseTooLarge } from "../http/body.ts";
import type { RequestMemory } from "../http/request-memory.ts";
import { LARGE_BYTES, type LargeJson } from "./large-json.ts";

export interface SubmissionReader {
  limits: PayloadLimits;
  large: LargeJson;
  vault: Vault;
  clock: Clock;
}

/** What a client sent. */
export type Sent = Pick<Submission, "terms" | "body" | "sealed"> & {
  /** The body as it came. It tells a repeated request from a different one with the same idempotency key. */
  sent: Payload;
};

export const digestOf = (sent: Payload) => hash("sha256", sent, "base64url");

/** Returns at once for a short body that came with its head, as most do. A promise for each step would cost more than the reading. */
export function readSubmission(
  reader: SubmissionReader,
  request: IncomingMessage,
  response: ServerResponse,
  { limit, whose, memory }: { limit: number; whose: string; memory: RequestMemory },
): Sent | Promise<Sent> {
  refuseTooLarge(request, limit);
  const bytes = bodyAtHand(request, limit);
  if (bytes) return readBytes(reader, bytes, whose);
  const arriving = readBody(request, response, { limit, clock: reader.clock, memory });
  return arriving.then((arrived) => readBytes(reader, arrived, whose));
}

function readBytes(reader: SubmissionReader, bytes: Buffer, whose: string): Sent | Promise<Sent> {
  if (bytes.length === 0)
    throw problem("unreadable", "the request body is empty; a JSON object with 'input' is required");
  if (bytes.length > LARGE_BYTES)
    return readLarge(reader.large, bytes, whose).then((read) => withSealed(reader, read, whose));
  return withSealed(reader, readSmall(bytes), whose);
}

const withSealed = (reader: SubmissionReader, read: Sent, whose: string): Sent | Promise<Sent> =>
  read.terms.hasCredential ? sealed(reader, read, whose) : read;

async function sealed({ large, vault }: SubmissionReader, read: Sent, whose: string): Promise<Sent> {
  const sealed = await sealCredential(vault, read.body, findIn(large, whose));
  if (sealed === undefined) return read;
  return { terms: read.terms, body: sealed, sealed: true, sent: read.sent };
}

/** The thread gets a copy, since the body itself is stored. */
const findIn =
  (large: LargeJson, whose: string): FindCredentials =>
  (body, opening) =>
    large.credentials(body, opening, whose);

function readSmall(bytes: Buffer): Sent {
  const { text, value } = parseKeptJson(bytes);
  return { terms: readRequest(value), body: text, sent: text };
}

async function readLarge(large: LargeJson, buffer: Buffer, whose: string): Promise<Sent> {
  const { terms, bytes } = await large.request(buffer, whose);
  return { terms, body: bytes, sent: bytes };
}
