/** What a caller of /run or /runsync asks for: read from the parsed body, refused with a reason. Runs in any thread. */
import { problem } from "../kernel/problem.ts";
import { unstorable } from "../kernel/storable.ts";
import { EXECUTION_TIMEOUT_RANGE, type Range, RETRIES_RANGE, TTL_RANGE, WEBHOOK_BYTES } from "./model.ts";

/** Everything the body says apart from the input itself. */
export interface RequestTerms {
  executionTimeoutMs?: number;
  ttlMs?: number;
  errorRetries: number;
  lowPriority: boolean;
  webhooks: string[];
  /** Whether the body may hold a credential, which must be sealed before it is stored. */
  hasCredential: boolean;
}

type Json = Record<string, unknown>;

export function readRequest(parsed: unknown): RequestTerms {
  const body = asObject(parsed);
  if (!body) throw problem("invalid", "the request body must be a JSON object with 'input'");
  if (!("input" in body)) throw problem("invalid", "'input' is required: a JSON object");
  if (!asObject(body.input)) throw problem("invalid", "'input' must be a JSON object");
  const policy = readPolicy(body.policy);
  return {
    ...policy,
    webhooks: [...readUrl(body, "webhook"), ...readUrl(body, "webhookV2")],
    // Of a key that is given twice the first is not seen here, and would be stored all the same.
    hasCredential: "s3Config" in body,
  };
}

function readPolicy(given: unknown): Omit<RequestTerms, "webhooks" | "hasCredential"> {
  const policy = given === undefined || given === null ? {} : asObject(given);
  if (!policy) throw problem("invalid", "'policy' must be a JSON object");
  if (policy.lowPriority !== undefined && typeof policy.lowPriority !== "boolean") {
    throw problem("invalid", "'policy.lowPriority' must be true or false");
  }
  return {
    executionTimeoutMs: readInteger(policy, "executionTimeout", EXECUTION_TIMEOUT_RANGE),
    ttlMs: readInteger(policy, "ttl", TTL_RANGE),
    errorRetries: readInteger(policy, "retries", RETRIES_RANGE) ?? 0,
    lowPriority: policy.lowPriority === true,
  };
}

function readInteger(policy: Json, name: string, { least, most }: Range): number | undefined {
  const value = policy[name];
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw problem("invalid", `'policy.${name}' must be an integer from ${least} to ${most}`);
  }
  return value;
}

function readUrl(body: Json, name: "webhook" | "webhookV2"): string[] {
  const url = body[name];
  if (url === undefined || url === null || url === "") return [];
  return [webhookUrl(url, name)];
}

/** A target of webhooks, or a refusal that says what is wrong with it. */
export function webhookUrl(url: unknown, name: string): string {
  if (typeof url !== "string" || !URL.canParse(url) || !/^https?:/i.test(url)) {
    throw problem("invalid", `'${name}' must be an http or https URL`);
  }
  const fault = unstorable(url);
  if (fault) throw problem("invalid", `'${name}' ${fault}`);
  if (Buffer.byteLength(url) > WEBHOOK_BYTES) {
    throw problem("invalid", `'${name}' must have at most ${WEBHOOK_BYTES} bytes`);
  }
  return url;
}

function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}
