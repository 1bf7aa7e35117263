/** Refusals in GraphQL: in the answer's list of errors, or as the whole answer if nothing was executed. */
import { GraphQLError } from "graphql";
import type { Caller } from "../../kernel/caller.ts";
import { type Operation, scopesOf } from "../../kernel/operation.ts";
import { isProblem, type Meaning, type Problem } from "../../kernel/problem.ts";
import { allows } from "../../kernel/scope.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";

/** A fixed message or code that clients compare. The reason then goes into the extensions. */
export interface Literal {
  message?: string;
  code?: string;
}

/** The code of every refusal by a service, unless a literal says otherwise. */
const DEFAULT_CODE = "RUNPOD";
const FAULT_CODE = "INTERNAL_SERVER_ERROR";
const INVALID_CODE = "GRAPHQL_VALIDATION_FAILED";

const NO_ROOM: Literal = {
  message:
    "There are no longer any instances available with the requested specifications. Please refresh and try again.",
  code: "SUPPLY_CONSTRAINT",
};

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

interface Asked {
  caller: Caller;
  operation: Operation;
  literal?: ((refusal: Problem) => Literal | undefined) | undefined;
}

/** A refusal during execution. */
export function refusalOf(refusal: Problem, asked?: Asked): GraphQLError {
  const literal = asked?.literal?.(refusal) ?? (refusal.code === "no-capacity" ? NO_ROOM : {});
  const reason = reasonOf(refusal);
  const missing = asked && refusal.code === "not-allowed" ? missingScope(asked) : undefined;
  return new GraphQLError(literal.message ?? reason, {
    originalError: refusal,
    extensions: {
      code: literal.code ?? DEFAULT_CODE,
      meaning: refusal.code,
      reasonCode: refusal.reason,
      ...(literal.message !== undefined && { reason }),
      ...(missing !== undefined && { scope: missing }),
    },
  });
}

function missingScope({ caller, operation }: Asked): string | undefined {
  return scopesOf(operation).find((scope) => !allows(caller.grants, scope));
}

function reasonOf({ code, detail, errors = [] }: Problem): string {
  const reason = errors.length > 0 ? `${detail} ${errors.join("; ")}` : detail;
  const opening = OPENINGS[code];
  return opening === undefined ? reason : `${opening}: ${reason}`;
}

/** An execution error as the caller sees it. An unforeseen error goes into the log, and the caller gets the id of the log line. */
export function shownError(error: GraphQLError, fault: (error: unknown) => string): object {
  const { originalError, locations, path, extensions } = error;
  const known = isProblem(originalError) && extensions.code === undefined ? refusalOf(originalError) : error;
  if (known.extensions.code !== undefined)
    return { message: known.message, locations, path, extensions: known.extensions };
  const id = fault(originalError ?? error);
  const message = `Internal server error: it is in the server's log under the id ${id}.`;
  return { message, locations, path, extensions: { code: FAULT_CODE, reasonCode: "fault" } };
}

/** An error in a document, or in a variable, that keeps it from being executed. */
export const shownInvalid = ({ message, locations }: GraphQLError): object => ({
  message,
  ...(locations && { locations }),
  extensions: { code: INVALID_CODE },
});

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
