/** Makes an OpenAPI document from the same operations that the router mounts. */
import { type Operation, type Operations, pathParameters, refusalsOf, scopesOf } from "../../kernel/operation.ts";
import { audiences } from "../../kernel/rights.ts";
import type { TSchema } from "../../kernel/schema.ts";
import { Components, type Json, type ListStyle, parametersIn, pathParameter } from "./openapi-schemas.ts";
import { reasonHeader, type Statuses } from "./refusal.ts";

/** What differs between the documents of two surfaces. */
export interface DocumentParts {
  info: { title: string; version: string; description: string };
  tags: Readonly<Record<string, string>>;
  statuses: Statuses;
  /** Explains each status in words. */
  reasons: Readonly<Record<number, string>>;
  /** The form of every refusal. */
  refused: { mediaType: string; schema: TSchema };
  /** Headers that every answer carries, with or without a key. */
  headers?: Readonly<Record<string, Json>>;
  /** Names an operation in the document. Without it, the operation keeps its own name. */
  idOf?: (name: string) => string;
  /** How lists are sent in queries. */
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
    security: [{ bearer: [] }, { session: [], page: [] }],
    tags: tagsOf(served, parts.tags),
    paths,
    components: {
      securitySchemes,
      headers: { ...headerComponents, ...headers },
      schemas: components.schemas,
    },
  };
}

/** A key; or the two secrets of a browser's session. */
const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "An API key." },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-millrace-session",
    description: "The session of a person who is signed in.",
  },
  page: { type: "apiKey", in: "header", name: "X-Millrace-Page", description: "The page token of that session." },
};

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
    ...(operation.bytes === "out" ? ofBytes : []),
  ];
  return {
    operationId,
    summary: operation.summary,
    description: [operation.description, needs(operation)].filter(Boolean).join("\n\n"),
    tags: [operation.tag],
    ...(operation.who === "anybody" && { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.in
      ? {
          requestBody: {
            required: !operation.isBodyOptional,
            content: json(components.refer(operation.in, method === "POST")),
          },
        }
      : {}),
    ...(operation.bytes === "in" ? { requestBody: { required: true, content: bytes } } : {}),
    responses: responses(operation, writer),
  };
}

function needs(operation: Operation): string {
  if (operation.scope === undefined) return `For ${audiences[operation.who ?? "caller"]}.`;
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
      ...(operation.bytes === "out" ? { content: bytes } : {}),
      ...(operation.texts ? { content: texts(operation.texts, components) } : {}),
    },
  };
  if (operation.bytes === "out") {
    all[206] = { description: "The range that was asked for.", headers, content: bytes };
    all[304] = { description: "The client has it already.", headers };
  }
  if (operation.emptyStatus) all[operation.emptyStatus] = { description: "Success.", headers };
  const statuses = refusalsOf(operation).map((meaning) => statusOf[meaning]);
  for (const status of [...new Set(statuses)].sort((a, b) => a - b)) {
    const reason = reasons[status];
    if (!reason) throw new Error(`no words say what the status ${status} of ${operation.path} means`);
    all[status] = refusal(reason, status, writer, status === 401);
  }
  all.default = refusal("Any other refusal or fault, in the same form.", undefined, writer);
  return all;
}

/** A refusal. If it is unknown who asks, it has no headers about rate limits. */
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

const texts = (all: NonNullable<Operation["texts"]>, components: Components): Json =>
  Object.fromEntries(Object.entries(all).map(([type, schema]) => [type, { schema: components.refer(schema) }]));

const json = (schema: unknown) => ({ "application/json": { schema } });

/** OpenAPI cannot describe a stream, so the schema is the one of each event's `data`. */
const events = (schema: unknown) => ({ "text/event-stream": { schema } });

/** In OpenAPI 3.1 an empty schema stands for bytes of any kind. */
const bytes = { "application/octet-stream": { schema: {} } };

const MAX_HEADER_LENGTH = 1024;

const ofBytes = [
  ["Range", "One range of bytes, such as `bytes=0-1023`."],
  ["If-None-Match", "Tags of what the client has: 304 if it has not changed."],
  ["If-Range", "The tag of what the client has a part of: the whole is sent if it has changed."],
].map(([name, description]) => ({
  ...{ name, in: "header", required: false, description },
  schema: { type: "string", maxLength: MAX_HEADER_LENGTH },
}));

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
