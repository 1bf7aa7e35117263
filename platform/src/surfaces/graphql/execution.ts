/** Executes GraphQL documents. It is loaded with the first of them. */
import { execute, GraphQLError, type GraphQLSchema } from "graphql";
import type { Auditing } from "../../guards/deeds.ts";
import type { Caller } from "../../kernel/caller.ts";
import { isTooLarge, mostFor, tooLarge } from "./answer-size.ts";
import { GraphContext } from "./context.ts";
import { costOf, refuseCostly } from "./document-cost.ts";
import { Documents, InvalidDocument } from "./documents.ts";
import { NotPlain } from "./plain-selection.ts";
import { shownError, shownInvalid } from "./refusals.ts";
import { graphSchema, schemaFor } from "./schema.ts";
import type { GraphServices } from "./services.ts";

export interface ExecutionParts {
  services: GraphServices;
  /** Logs an unforeseen error and returns the id of its log line. */
  fault: (error: unknown) => string;
  introspection: boolean;
}

export interface Asked {
  query: string;
  variables: Record<string, unknown>;
  operationName: string | undefined;
}

/** The plain schema answers queries alone, so they can be answered again. */
const isNotPlain = ({ originalError }: GraphQLError) => originalError instanceof NotPlain;

export class Execution {
  readonly #parts: ExecutionParts;
  readonly #documents: Documents;

  constructor(parts: ExecutionParts) {
    this.#parts = parts;
    this.#documents = new Documents(graphSchema, parts);
  }

  /** A document that cannot be executed, or a query too large to answer, gets 400. Anything that was executed gets 200, even with errors. */
  async answer(
    { query, variables, operationName }: Asked,
    caller: Caller,
    auditing: (name: string) => Auditing,
  ): Promise<{ status: number; answer: object }> {
    const { services, fault, introspection } = this.#parts;
    try {
      const document = this.#documents.prepare(query, (read) =>
        refuseCostly(
          costOf(graphSchema, read, { operationName, variables }),
          mostFor(caller),
          caller.anonymous ? "without a key" : "at once",
        ),
      );
      const executed = async (schema: GraphQLSchema) => {
        const contextValue = new GraphContext({ caller, services, auditing });
        const asked = { document, contextValue, variableValues: variables, hideSuggestions: !introspection };
        const result = await execute({ schema, ...asked, ...(operationName !== undefined && { operationName }) });
        return { result, context: contextValue };
      };
      const first = await executed(schemaFor(document));
      const { result, context } = first.result.errors?.some(isNotPlain) ? await executed(graphSchema) : first;
      // Without data, execution did not begin: a variable does not fit its declaration, or there is no such operation.
      if (!("data" in result))
        throw new InvalidDocument(result.errors ?? [new GraphQLError("Nothing can be executed.")]);
      const { data, errors } = result;
      if (isTooLarge(context)) {
        // A mutation has taken effect, and clients read 400 as if nothing had been done.
        const status = context.hasChanged ? 200 : 400;
        return { status, answer: { errors: [shownError(tooLarge(context), fault)], data: null } };
      }
      return {
        status: 200,
        answer: errors ? { errors: errors.map((error) => shownError(error, fault)), data } : { data },
      };
    } catch (error) {
      if (!(error instanceof InvalidDocument)) throw error;
      return { status: 400, answer: { errors: error.errors.map(shownInvalid) } };
    }
  }
}
