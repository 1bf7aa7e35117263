/** Refusals in the list of errors of a GraphQL answer. */
import { GraphQLError } from "graphql";
import type { Caller } from "../../kernel/caller.ts";
import { type Operation, scopesOf } from "../../kernel/operation.ts";
import { isProblem, type Problem } from "../../kernel/problem.ts";
import { allows } from "../../kernel/scope.ts";
import { FAULT_CODE, reasonOf } from "./whole-refusal.ts";

/** A fixed message or code that clients compare. The reason then goes into the extensions. */
export interface Literal {
  message?: string;
  code?: string;
}

/** The code of every refusal by a service, unless a literal says otherwise. */
const DEFAULT_CODE = "RUNPOD";
const INVALID_CODE = "GRAPHQL_VALIDATION_FAILED";

export const NO_ROOM: Literal = {
  message:
    "There are no longer any instances available with the requested specifications. Please refresh and try again.",
  code: "SUPPLY_CONSTRAINT",
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
