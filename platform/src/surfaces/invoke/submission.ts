/** From the body of /run or /runsync to a submission: read once, validated, and kept as it came. */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Submission } from "../../jobs/engine.ts";
import { readRequest } from "../../jobs/request.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseKeptJson } from "../../kernel/json.ts";
import { MIB } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";
import { readBody, refuseTooLarge } from "../http/body.ts";
import { LARGE_BYTES, type LargeJson } from "./large-json.ts";

export const BODY_LIMIT = { run: 10 * MIB, runsync: 20 * MIB };

export interface SubmissionReader {
  large: LargeJson;
  vault: Vault;
  clock: Clock;
}

type Read = Pick<Submission, "terms" | "body" | "sealed">;

/** A credential in a body is sealed under this context, and never stored in clear. */
const CREDENTIAL = "s3Config.accessSecret";

export async function readSubmission(
  { large, vault, clock }: SubmissionReader,
  request: IncomingMessage,
  response: ServerResponse,
  limit: number,
): Promise<Read & { digest: () => string }> {
  refuseTooLarge(request, limit);
  const bytes = await readBody(request, response, { limit, clock });
  if (bytes.length === 0)
    throw problem("malformed", "the request body is empty; a JSON object with 'input' is required");
  const read = bytes.length > LARGE_BYTES ? await readLarge(large, bytes) : readSmall(bytes);
  const digest = () => hash("sha256", read.body, "base64url");
  return read.terms.hasCredential ? { ...read, ...(await sealed(vault, read.body)), digest } : { ...read, digest };
}

function readSmall(bytes: Buffer): Read {
  const { text, value } = parseKeptJson(bytes);
  return { terms: readRequest(value), body: text };
}

async function readLarge(large: LargeJson, buffer: Buffer): Promise<Read> {
  const { terms, bytes } = await large.request(buffer);
  return { terms, body: bytes };
}

type WithCredential = { s3Config: { accessSecret: string | Sealed } };

async function sealed(vault: Vault, body: Submission["body"]): Promise<Pick<Submission, "body" | "sealed">> {
  const parsed = JSON.parse(asText(body)) as WithCredential;
  parsed.s3Config.accessSecret = await vault.seal(parsed.s3Config.accessSecret as string, CREDENTIAL);
  return { body: JSON.stringify(parsed), sealed: true };
}

/** The body as the worker gets it, its credential readable again. */
export async function unsealed(vault: Vault, body: Submission["body"]): Promise<string> {
  const parsed = JSON.parse(asText(body)) as WithCredential;
  parsed.s3Config.accessSecret = await vault.open(parsed.s3Config.accessSecret as Sealed, CREDENTIAL);
  return JSON.stringify(parsed);
}

function asText(body: Submission["body"]): string {
  return typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}
