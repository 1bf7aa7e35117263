/** Reads what a caller of /run or /runsync asks for from the parsed body, and refuses it with a reason. Runs in any thread. */
import { problem } from "../kernel/problem.ts";
import { unstorable } from "../kernel/storable.ts";
import { EXECUTION_TIMEOUT_RANGE, type Range, RETRIES_RANGE, TTL_RANGE, WEBHOOK_BYTES } from "./model.ts";

/** Everything in the body except the input. */
export interface RequestTerms {
  executionTimeoutMs?: number;
  ttlMs?: number;
  errorRetries: number;
  lowPriority: boolean;
  webhooks: string[];
  /** Whether the body may contain a credential, which must be sealed before the body is stored. */
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
    // If the key is repeated, its first value is not visible here but would still be stored. So any `s3Config` counts.
    hasCredential: "s3Config" in body,
  };
}

/** Clients send null for what nobody set. */
const isUnset = (value: unknown): value is undefined | null => value === undefined || value === null;

function readPolicy(given: unknown): Omit<RequestTerms, "webhooks" | "hasCredential"> {
  const policy = isUnset(given) ? {} : asObject(given);
  if (!policy) throw problem("invalid", "'policy' must be a JSON object");
  if (!isUnset(policy.lowPriority) && typeof policy.lowPriority !== "boolean") {
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
  if (isUnset(value)) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw problem("invalid", `'policy.${name}' must be an integer from ${least} to ${most}`);
  }
  return value;
}

function readUrl(body: Json, name: "webhook" | "webhookV2"): string[] {
  const url = body[name];
  if (isUnset(url) || url === "") return [];
  return [webhookUrl(url, name)];
}

/** Returns a webhook URL, or refuses it with the reason. */
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
