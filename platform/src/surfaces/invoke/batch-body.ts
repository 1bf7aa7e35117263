/** Splits the body that adds requests to a batch: each request is validated, and its text kept unchanged. Runs in any thread. */
import { credentialsToSeal } from "../../jobs/credential.ts";
import { type RequestTerms, readRequest } from "../../jobs/request.ts";
import { parseKeptJson } from "../../kernel/json.ts";
import { itemSpans, type Span, valueSpans } from "../../kernel/json-spans.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { BATCH_LIMITS } from "../../resources/batches/model.ts";

export interface BatchRequest {
  body: string;
  terms: RequestTerms;
  /** Where the body contains credentials that must be sealed. */
  credentials: Span[];
}

/** A JSON array of requests, or an object with one as `requests`. */
export function readBatchBody(bytes: Uint8Array): BatchRequest[] {
  const { text, value } = parseKeptJson(bytes);
  const isBare = Array.isArray(value);
  const list = isBare ? value : (value as { requests?: unknown } | null)?.requests;
  if (!Array.isArray(list))
    throw problem(
      "invalid",
      "the request body must be a JSON array of objects with 'input', or have one as 'requests'",
    );
  if (list.length > BATCH_LIMITS.requests)
    throw problem("invalid", `a batch has at most ${BATCH_LIMITS.requests} requests, and these are ${list.length}`);
  // If a key occurs twice, parsers take the last one.
  const start = isBare ? undefined : valueSpans(text, ["requests"]).at(-1)![0];
  return itemSpans(text, start).map((span, i) => requestOf(text.slice(...span), termsOf(list[i], i)));
}

function requestOf(body: string, terms: RequestTerms): BatchRequest {
  return { body, terms, credentials: terms.hasCredential ? credentialsToSeal(body) : [] };
}

function termsOf(request: unknown, i: number): RequestTerms {
  try {
    return readRequest(request);
  } catch (error) {
    if (!isProblem(error)) throw error;
    throw problem(error.code, `request ${i}: ${error.detail}`, { cause: error, reason: error.reason });
  }
}
