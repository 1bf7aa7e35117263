/** GraphQL over HTTP: authentication, the fields of the body, and the statuses that clients know. */
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { parseJson } from "../../kernel/json.ts";
import { MIB } from "../../kernel/operation.ts";
import { partyOf } from "../../kernel/party.ts";
import { problem } from "../../kernel/problem.ts";
import { readBody, refuseTooLarge } from "../http/body.ts";
import { clientAddress } from "../http/client-address.ts";
import { wantsPage } from "../http/page.ts";
import { type Pipeline, requireJson, searchOf } from "../http/pipeline.ts";
import type { Reply, Request } from "../http/reply.ts";
import type { RequestMemory } from "../http/request-memory.ts";
import type { Router } from "../http/router.ts";
import type { Credentials, Surface } from "../http/surface.ts";
import type { Asked, Execution, ExecutionParts } from "./execution.ts";
import { page, pageHeaders } from "./page.ts";
import { wholeRefusal } from "./whole-refusal.ts";

const GRAPHQL_PATH = "/graphql";
const BODY_LIMIT = MIB;

export interface GraphParts extends ExecutionParts {
  pipeline: Pipeline;
  authenticator: Authenticator;
  clock: Clock;
}

export function mountGraphql(router: Router, parts: GraphParts): void {
  const { pipeline } = parts;
  const surface = graphSurface(parts.authenticator);
  // The library and the schema are loaded with the first request. Many servers never get one, and they take several megabytes.
  let execution: Promise<Execution> | undefined;
  const load = async () => new (await import("./execution.ts")).Execution(parts);
  router.add(["POST"], GRAPHQL_PATH, (request, reply) =>
    pipeline.answer(surface, request, reply, async (caller, memory) => {
      const asked = await readAsked(request, reply, memory, parts.clock);
      const auditing = (name: string) => pipeline.auditing(name, request);
      execution ??= load();
      const { status, answer } = await (await execution).answer(asked, caller, auditing);
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

function stranger(request: Credentials): Caller {
  const user = `address ${partyOf(clientAddress(request) ?? "")}`;
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
