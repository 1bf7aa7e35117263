/** An OpenAPI document of operations, made from the same ones that the router mounts. */
import { type Operation, type Operations, pathParameters, refusalsOf, scopesOf } from "../../kernel/operation.ts";
import type { TSchema } from "../../kernel/schema.ts";
import { Components, type Json, type ListStyle, parametersIn, pathParameter } from "./openapi-schemas.ts";
import { reasonHeader, type Statuses } from "./refusal.ts";

/** What differs between the documents of two surfaces. */
export interface DocumentParts {
  info: { title: string; version: string; description: string };
  tags: Readonly<Record<string, string>>;
  statuses: Statuses;
  /** Why a status is answered, in words. */
  reasons: Readonly<Record<number, string>>;
  /** The form of every refusal. */
  refused: { mediaType: string; schema: TSchema };
  /** What every answer carries, whoever asks. */
  headers?: Readonly<Record<string, Json>>;
  /** What an operation is called in it; by its own name where nothing is said. */
  idOf?: (name: string) => string;
  /** How lists in queries are sent. */
  lists?: ListStyle;
}

export function documentOf(served: Operations, parts: DocumentParts): Json {
  const components = new Components();
  const { headers = {}, idOf = (name) => name } = parts;
  const writer = { ...parts, components, always: refersTo(headers) };
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(served)) {
    const described = describe(idOf(name), operation, writer);
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: described };
  }
  return {
    openapi: "3.1.0",
    info: { ...parts.info, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/", description: "The server that this document came from." }],
    security: [{ bearer: [] }],
    tags: tagsOf(served, parts.tags),
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "An API key." } },
      headers: { ...headerComponents, ...headers },
      schemas: components.schemas,
    },
  };
}

type Writer = DocumentParts & { components: Components; always: Json };

const refersTo = (headers: object): Json =>
  Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Every authenticated answer carries these two, except to callers who are exempt from limits. */
const rateLimitHeaders = {
  RateLimit: { $ref: "#/components/headers/RateLimit" },
  "RateLimit-Policy": { $ref: "#/components/headers/RateLimit-Policy" },
};

function describe(operationId: string, operation: Operation, writer: Writer): Json {
  const { method } = operation;
  const { components, lists } = writer;
  const parameters = [
    ...pathParameters(operation.path).map(pathParameter),
    ...parametersIn("query", operation.query, components, lists),
    ...(operation.events ? [lastEventId] : []),
  ];
  return {
    operationId,
    summary: operation.summary,
    description: [operation.description, needs(operation)].filter(Boolean).join("\n\n"),
    tags: [operation.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.in
      ? {
          requestBody: {
            required: !operation.isBodyOptional,
            content: json(components.refer(operation.in, method === "POST")),
          },
        }
      : {}),
    responses: responses(operation, writer),
  };
}

function needs(operation: Operation): string {
  const scopes = scopesOf(operation).map((scope) => `\`${scope}\``);
  return `Needs the scope${scopes.length > 1 ? "s" : ""} ${scopes.join(" and ")}.`;
}

function responses(operation: Operation, writer: Writer): Json {
  const { components, statuses: statusOf, reasons, always } = writer;
  const headers = { ...always, ...rateLimitHeaders };
  const all: Json = {
    [operation.status]: {
      description: "Success.",
      headers,
      ...(operation.out ? { content: json(components.refer(operation.out)) } : {}),
      ...(operation.events ? { content: events(components.refer(operation.events)) } : {}),
    },
  };
  if (operation.emptyStatus) all[operation.emptyStatus] = { description: "Success.", headers };
  const statuses = refusalsOf(operation).map((meaning) => statusOf[meaning]);
  for (const status of [...new Set(statuses)].sort((a, b) => a - b)) {
    all[status] = refusal(reasons[status]!, status, writer, status === 401);
  }
  all.default = refusal("Any other refusal or fault, in the same form.", undefined, writer);
  return all;
}

/** Where it is not known who asks, nothing is known of their limits. */
function refusal(description: string, status: number | undefined, writer: Writer, isUnasked = false): Json {
  const { components, refused, always } = writer;
  const headers: Json = isUnasked ? { ...always } : { ...always, ...rateLimitHeaders };
  headers["X-Reason-Code"] = { $ref: "#/components/headers/X-Reason-Code" };
  if (status === 429) headers["Retry-After"] = { $ref: "#/components/headers/Retry-After" };
  if (status === 405) headers.Allow = { $ref: "#/components/headers/Allow" };
  return {
    description,
    headers,
    content: { [refused.mediaType]: { schema: components.refer(refused.schema) } },
  };
}

const json = (schema: unknown) => ({ "application/json": { schema } });

/** The document has no words for a stream: the schema is that of each event's `data`. */
const events = (schema: unknown) => ({ "text/event-stream": { schema } });

const MAX_HEADER_LENGTH = 1024;

const lastEventId = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  description: "The id of the last event that was seen, or its time alone: what comes after it is sent.",
  schema: { type: "string", maxLength: MAX_HEADER_LENGTH },
};

function tagsOf(served: Operations, descriptions: Readonly<Record<string, string>>): Json[] {
  const names = [...new Set(Object.values(served).map(({ tag }) => tag))];
  return names.map((name) => ({ name, description: descriptions[name] }));
}

const headerComponents = {
  RateLimit: {
    description:
      "Live state: a structured-field list with one member per window, `r` requests left and `t` seconds to its reset.",
    schema: { type: "string" },
    example: '"minute";r=599;t=60, "hour";r=17999;t=3600, "day";r=199999;t=86400',
  },
  "RateLimit-Policy": {
    description: "Static policy: the same list, with `q` the quota and `w` the window's length in seconds.",
    schema: { type: "string" },
    example: '"minute";q=600;w=60, "hour";q=18000;w=3600, "day";q=200000;w=86400',
  },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
  Allow: { description: "Methods that the path has.", schema: { type: "string" } },
  "X-Reason-Code": reasonHeader,
};
