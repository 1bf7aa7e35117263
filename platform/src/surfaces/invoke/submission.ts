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
import { readBody, refuseTooLarge } from "../http/body.ts";
import type { RequestMemory } from "../http/request-memory.ts";
import { LARGE_BYTES, type LargeJson } from "./large-json.ts";

export interface SubmissionReader {
  limits: PayloadLimits;
  large: LargeJson;
  vault: Vault;
  clock: Clock;
}

type Read = Pick<Submission, "terms" | "body" | "sealed"> & {
  /** The body as it came. It tells a repeated request from a different one with the same idempotency key. */
  sent: Payload;
};

export const digestOf = (sent: Payload) => hash("sha256", sent, "base64url");

export async function readSubmission(
  { large, vault, clock }: SubmissionReader,
  request: IncomingMessage,
  response: ServerResponse,
  { limit, whose, memory }: { limit: number; whose: string; memory: RequestMemory },
): Promise<Read> {
  refuseTooLarge(request, limit);
  const bytes = await readBody(request, response, { limit, clock, memory });
  if (bytes.length === 0)
    throw problem("unreadable", "the request body is empty; a JSON object with 'input' is required");
  const read = bytes.length > LARGE_BYTES ? await readLarge(large, bytes, whose) : readSmall(bytes);
  if (!read.terms.hasCredential) return read;
  const sealed = await sealCredential(vault, read.body, findIn(large, whose));
  if (sealed === undefined) return read;
  return { terms: read.terms, body: sealed, sealed: true, sent: read.sent };
}

/** The thread gets a copy, since the body itself is stored. */
const findIn =
  (large: LargeJson, whose: string): FindCredentials =>
  (body, opening) =>
    large.credentials(body, opening, whose);

function readSmall(bytes: Buffer): Read {
  const { text, value } = parseKeptJson(bytes);
  return { terms: readRequest(value), body: text, sent: text };
}

async function readLarge(large: LargeJson, buffer: Buffer, whose: string): Promise<Read> {
  const { terms, bytes } = await large.request(buffer, whose);
  return { terms, body: bytes, sent: bytes };
}
