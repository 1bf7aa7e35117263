/** From the body of /run or /runsync to a submission: read once, validated, and kept as it came. */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Submission } from "../../jobs/engine.ts";
import type { PayloadLimits } from "../../jobs/payload-limits.ts";
import { readRequest } from "../../jobs/request.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseKeptJson } from "../../kernel/json.ts";
import { replaceSpans, type Span, valueSpans } from "../../kernel/json-spans.ts";
import { problem } from "../../kernel/problem.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";
import { readBody, refuseTooLarge } from "../http/body.ts";
import { LARGE_BYTES, type LargeJson } from "./large-json.ts";

export interface SubmissionReader {
  limits: PayloadLimits;
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

/** Only the credential changes: everything else reaches the worker as it came, numbers too long for us included. */
async function sealed(vault: Vault, body: Submission["body"]): Promise<Pick<Submission, "body" | "sealed">> {
  const text = asText(body);
  const spans = credentialsIn(text, '"');
  const secret = await vault.seal(lastIn(text, spans) as string, CREDENTIAL);
  return { body: replaceSpans(text, spans, JSON.stringify(secret)), sealed: true };
}

/** The body as the worker gets it, its credential readable again. */
export async function unsealed(vault: Vault, body: Submission["body"]): Promise<string> {
  const text = asText(body);
  const spans = credentialsIn(text, "{");
  const secret = await vault.open(lastIn(text, spans) as Sealed, CREDENTIAL);
  return replaceSpans(text, spans, JSON.stringify(secret));
}

/** Where credentials stand, all of them: a key that is given twice hides the first from parsers, but not from the disk. */
function credentialsIn(text: string, opening: '"' | "{"): Span[] {
  return valueSpans(text, ["s3Config", "accessSecret"]).filter(([start]) => text[start] === opening);
}

function lastIn(text: string, spans: readonly Span[]): unknown {
  return JSON.parse(text.slice(...spans.at(-1)!));
}

function asText(body: Submission["body"]): string {
  return typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}
