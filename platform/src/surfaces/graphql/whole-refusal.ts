/** A refusal as the whole GraphQL answer, if nothing was executed. */
import type { Meaning, Problem } from "../../kernel/problem.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";

export const FAULT_CODE = "INTERNAL_SERVER_ERROR";

/**
 * Clients act on these phrases. Some stop retrying at the first, and some retry at the other two, so no permanent refusal may contain
 * those.
 */
const OPENINGS: Partial<Record<Meaning, string>> = {
  unauthenticated: "Unauthorized",
  "not-allowed": "Unauthorized",
  unavailable: "Service unavailable",
  "too-much": "Too many requests",
};

export function reasonOf({ code, detail, errors = [] }: Problem): string {
  const reason = errors.length > 0 ? `${detail} ${errors.join("; ")}` : detail;
  const opening = OPENINGS[code];
  return opening === undefined ? reason : `${opening}: ${reason}`;
}

const statuses: Statuses = { ...problemStatuses, invalid: 400, unstorable: 400, "not-allowed": 401 };

const CODES: Partial<Record<Meaning, string>> = {
  unauthenticated: "UNAUTHENTICATED",
  "not-allowed": "UNAUTHENTICATED",
  "too-much": "TOO_MANY_REQUESTS",
  fault: FAULT_CODE,
};

/** A refusal before execution. Clients compare the message for an unknown key. */
export function wholeRefusal(refusal: Problem): Refused {
  const { code } = refusal;
  const isStranger = code === "unauthenticated";
  const extensions = {
    code: CODES[code] ?? "BAD_REQUEST",
    ...(isStranger && { reason: refusal.detail }),
    reasonCode: refusal.reason,
  };
  const message = isStranger
    ? "Unauthorized"
    : code === "fault"
      ? `Internal server error. ${refusal.detail}`
      : reasonOf(refusal);
  const body = JSON.stringify({ errors: [{ message, extensions }] });
  return { status: statuses[code], contentType: "application/json; charset=utf-8", body };
}
