/** A refusal as `application/problem+json`, in exactly the form that the specification of REST v2 prescribes. */
import { STATUS_CODES } from "node:http";
import type { Problem } from "../../kernel/problem.ts";
import type { Refused, Statuses } from "./refusal.ts";

export const problemStatuses: Statuses = {
  unreadable: 400,
  unstorable: 422,
  invalid: 422,
  "rule-broken": 400,
  "no-capacity": 400,
  unauthenticated: 401,
  unpaid: 402,
  "not-allowed": 403,
  "over-quota": 403,
  "not-found": 404,
  "name-taken": 409,
  conflicting: 409,
  "wrong-state": 409,
  "too-large": 413,
  "no-room": 507,
  "too-much": 429,
  "too-slow": 408,
  abandoned: 408,
  unavailable: 503,
  "no-answer": 502,
  "late-answer": 504,
  fault: 500,
  "wrong-method": 405,
  "wrong-media-type": 415,
  "outside-range": 416,
  "unmet-expectation": 417,
  "long-headers": 431,
};

export function problemJson({ code, detail, errors }: Problem): Refused & { title: string } {
  const status = problemStatuses[code];
  const title = STATUS_CODES[status]!;
  const body = JSON.stringify({ title, status, detail, errors });
  return { status, title, contentType: "application/problem+json", body };
}
