/** GraphQL over HTTP: authentication, the fields of the body, and the statuses that clients know. */
import { execute, GraphQLError, type GraphQLSchema } from "graphql";
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseJson } from "../../kernel/json.ts";
import { MIB } from "../../kernel/operation.ts";
import { partyOf } from "../../kernel/party.ts";
import { problem } from "../../kernel/problem.ts";
import { readBody, refuseTooLarge } from "../http/body.ts";
import { wantsPage } from "../http/page.ts";
import { type Pipeline, requireJson, searchOf } from "../http/pipeline.ts";
import type { Reply, Request } from "../http/reply.ts";
import type { RequestMemory } from "../http/request-memory.ts";
import type { Router } from "../http/router.ts";
import type { Credentials, Surface } from "../http/surface.ts";
import { isTooLarge, mostFor, tooLarge } from "./answer-size.ts";
import { GraphContext } from "./context.ts";
import { costOf, refuseCostly } from "./document-cost.ts";
import { Documents, InvalidDocument } from "./documents.ts";
import { page, pageHeaders } from "./page.ts";
import { shownError, shownInvalid, wholeRefusal } from "./refusals.ts";
import { graphSchema } from "./schema.ts";
import type { GraphServices } from "./services.ts";

const GRAPHQL_PATH = "/graphql";
const BODY_LIMIT = MIB;

export interface GraphParts {
  pipeline: Pipeline;
  authenticator: Authenticator;
  services: GraphServices;
  clock: Clock;
  /** Logs an unforeseen error and returns the id of its log line. */
  fault: (error: unknown) => string;
  introspection: boolean;
}

interface Asked {
  query: string;
  variables: Record<string, unknown>;
  operationName: string | undefined;
}

export function mountGraphql(router: Router, parts: GraphParts, schema: GraphQLSchema = graphSchema): void {
  const { pipeline } = parts;
  const surface = graphSurface(parts.authenticator);
  const documents = new Documents(schema, parts);
  router.add(["POST"], GRAPHQL_PATH, (request, reply) =>
    pipeline.answer(surface, request, reply, async (caller, memory) => {
      const asked = await readAsked(request, reply, memory, parts.clock);
      const auditing = (name: string) => pipeline.auditing(name, request);
      const context = new GraphContext({ caller, services: parts.services, auditing });
      const { status, answer } = await answerTo(asked, { schema, documents, context, ...parts });
      reply.code(status);
      return answer;
    }),
  );
  router.add(["GET"], GRAPHQL_PATH, (request, reply) => {
    if (!wantsPage(request)) return pipeline.refuse(surface, onlyPosted(), request, reply);
    Object.assign(reply.headers, pageHeaders);
    return reply.send(page);
  });
  pipeline.refuseOthers(router, surface, [{ path: GRAPHQL_PATH, methods: ["GET", "POST"] }]);
}

/** GET is refused: its URL stays in logs and browser histories, and a document may contain a secret. */
const onlyPosted = () =>
  problem("wrong-method", "A query is sent by POST as a JSON body; GET is for the page to try queries on.", {
    headers: { Allow: "POST" },
  });

function graphSurface(authenticator: Authenticator): Surface {
  return {
    name: "graphql",
    authenticate: (request) => callerOf(authenticator, request),
    limited: true,
    strictMediaType: true,
    refusal: wholeRefusal,
    logged: true,
  };
}

/** A key in the address decides, then the header, then the session of a browser; whoever has none reads what is open to all. */
function callerOf(authenticator: Authenticator, request: Credentials): Caller | Promise<Caller> {
  const inAddress = searchOf(request).get("api_key");
  if (inAddress) return authenticator.key(inAddress);
  const { authorization } = request.headers;
  if (authorization !== undefined) return authenticator.bearer(authorization);
  return authenticator.session(request) ?? stranger(request);
}

function stranger({ socket }: Credentials): Caller {
  const user = `address ${partyOf(socket.remoteAddress ?? "")}`;
  const grants = ["catalog:read", "templates:read"] as const;
  return { anonymous: true, account: "", user, key: "", grants, exempt: false };
}

async function readAsked(request: Request, reply: Reply, memory: RequestMemory, clock: Clock): Promise<Asked> {
  refuseTooLarge(request, BODY_LIMIT);
  requireJson(request);
  const bytes = await readBody(request, reply.raw, { limit: BODY_LIMIT, clock, memory });
  const body = bytes.length === 0 ? undefined : parseJson(bytes);
  if (!isMap(body)) throw problem("unreadable", "The body must be a JSON object with 'query'.");
  const { query, variables, operationName } = body;
  if (typeof query !== "string") throw problem("unreadable", "'query' must be a text, the GraphQL document.");
  if (variables !== undefined && variables !== null && !isMap(variables))
    throw problem("unreadable", "'variables' must be an object or null.");
  if (operationName !== undefined && operationName !== null && typeof operationName !== "string")
    throw problem("unreadable", "'operationName' must be a text or null.");
  return { query, variables: variables ?? {}, operationName: operationName || undefined };
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

interface Executing {
  schema: GraphQLSchema;
  documents: Documents;
  context: GraphContext;
  fault: GraphParts["fault"];
  introspection: boolean;
}

/** A document that cannot be executed, or a query too large to answer, gets 400. Anything that was executed gets 200, even with errors. */
async function answerTo(
  { query, variables, operationName }: Asked,
  { schema, documents, context, fault, introspection }: Executing,
): Promise<{ status: number; answer: object }> {
  try {
    const { caller } = context;
    const document = documents.prepare(query, (read) =>
      refuseCostly(
        costOf(schema, read, { operationName, variables }),
        mostFor(caller),
        caller.anonymous ? "without a key" : "at once",
      ),
    );
    const result = await execute({
      ...{ schema, document, contextValue: context, variableValues: variables, hideSuggestions: !introspection },
      ...(operationName !== undefined && { operationName }),
    });
    // Without data, execution did not begin: a variable does not fit its declaration, or there is no such operation.
    if (!("data" in result)) throw new InvalidDocument(result.errors ?? [new GraphQLError("Nothing can be executed.")]);
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
