/** Refusals as GraphQL says them: in the list of errors of an answer, or as the whole answer where nothing was executed. */
import { GraphQLError } from "graphql";
import type { Caller } from "../../kernel/caller.ts";
import { type Operation, scopesOf } from "../../kernel/operation.ts";
import { isProblem, type Meaning, type Problem } from "../../kernel/problem.ts";
import { allows } from "../../kernel/scope.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";

/** What clients compare, in place of the reason, which then stands beside it. */
export interface Literal {
  message?: string;
  code?: string;
}

/** What every refusal of a service is, where nothing else is known. */
const DEFAULT_CODE = "RUNPOD";
const FAULT_CODE = "INTERNAL_SERVER_ERROR";
const INVALID_CODE = "GRAPHQL_VALIDATION_FAILED";

const NO_ROOM: Literal = {
  message:
    "There are no longer any instances available with the requested specifications. Please refresh and try again.",
  code: "SUPPLY_CONSTRAINT",
};

/** Some clients try again where they read one of these phrases, which stand in nothing that would fail again. */
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

/** A refusal while something was executed. */
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

/** An error of an execution, as it leaves: what nobody foresaw is told to the log, and the caller learns where it is. */
export function shownError(error: GraphQLError, fault: (error: unknown) => string): object {
  const { originalError, locations, path, extensions } = error;
  const known = isProblem(originalError) && extensions.code === undefined ? refusalOf(originalError) : error;
  if (known.extensions.code !== undefined)
    return { message: known.message, locations, path, extensions: known.extensions };
  const id = fault(originalError ?? error);
  const message = `Internal server error: it is in the server's log under the id ${id}.`;
  return { message, locations, path, extensions: { code: FAULT_CODE, reasonCode: "fault" } };
}

/** Documents, and values of variables, that cannot be executed. */
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

/** A refusal before anything was executed. Clients compare the word of a key that nobody knows. */
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
