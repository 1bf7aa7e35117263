/** The OpenAPI document, made from the same operations that the router mounts. */
import { operations } from "../../contract.ts";
import { type Operation, type Operations, pathParameters, refusalsOf, scopesOf } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { Components, type Json, parametersIn, pathParameter } from "../http/openapi-schemas.ts";
import { problemStatuses } from "../http/problem-json.ts";

/** Every authenticated answer carries these two, except to callers who are exempt from limits. */
const rateLimitHeaders = {
  RateLimit: { $ref: "#/components/headers/RateLimit" },
  "RateLimit-Policy": { $ref: "#/components/headers/RateLimit-Policy" },
};

const reasons: Record<number, string> = {
  400: "The request is malformed, or conflicts with a rule of the service.",
  401: "The bearer token is missing, malformed, expired or invalid.",
  402: "The account or the API key has spent what it may: nothing new is started, and nothing that runs is ended.",
  403: "The token is valid, but lacks access to the resource or action.",
  404: "The resource does not exist or is not accessible to the caller.",
  405: "The path exists, but not with this method; `Allow` lists the methods it has.",
  409: "The request conflicts with the present state, such as a name that is taken.",
  413: "The body is larger than this operation takes.",
  415: "The body is not JSON.",
  422: "The body or a parameter does not fit its schema; `errors` lists each failure.",
  429: "A rate limit window is used up; `detail` names it.",
};

const tagDescriptions: Record<string, string> = {
  Account: "Secrets, SSH keys and API keys of the calling account.",
  Pods: "Machines that people live on: GPU or CPU, with storage, ports and logs.",
  Billing: "What everything cost, in buckets of time.",
  Registries: "Credentials for pulling private images.",
  Catalog:
    "GPU types, CPU flavors and data centers: what there is, what it costs, and what is free now; public templates.",
  "Network volumes": "Storage of a data center that Pods and workers share, and that outlives them.",
  Serverless: "Endpoints whose workers run a handler for each job.",
  Templates: "Configurations that Pods and endpoints are made from.",
};

const ErrorObject = t.Object(
  {
    title: t.String({ description: "Short summary." }),
    status: t.Integer({ description: "HTTP status code." }),
    detail: t.String({ description: "Explanation for people." }),
    errors: t.Optional(t.Array(t.String(), { description: "Validation failures, each `<json path>: <message>`." })),
  },
  { $id: "Error" },
);

export function openApiDocument(served: Operations = operations): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const [operationId, operation] of Object.entries(served)) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describe(operationId, operation, components),
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace API",
      version: "2.0.0",
      description: "REST v2 of Millrace, an open, self-hosted cloud compute platform.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The server that this document came from." }],
    security: [{ bearer: [] }],
    tags: tagsOf(served),
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "An API key." } },
      headers: headerComponents,
      schemas: components.schemas,
    },
  };
}

function describe(operationId: string, operation: Operation, components: Components): Json {
  const { method } = operation;
  const parameters = [
    ...pathParameters(operation.path).map(pathParameter),
    ...parametersIn("query", operation.query, components),
    ...(operation.events ? [lastEventId] : []),
  ];
  return {
    operationId,
    summary: operation.summary,
    description: [operation.description, needs(operation)].filter(Boolean).join("\n\n"),
    tags: [operation.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(operation.in
      ? { requestBody: { required: true, content: json(components.refer(operation.in, method === "POST")) } }
      : {}),
    responses: responses(operation, components),
  };
}

function needs(operation: Operation): string {
  const scopes = scopesOf(operation).map((scope) => `\`${scope}\``);
  return `Needs the scope${scopes.length > 1 ? "s" : ""} ${scopes.join(" and ")}.`;
}

function responses(operation: Operation, components: Components): Json {
  const all: Json = {
    [operation.status]: {
      description: "Success.",
      headers: rateLimitHeaders,
      ...(operation.out ? { content: json(components.refer(operation.out)) } : {}),
      ...(operation.events ? { content: events(components.refer(operation.events)) } : {}),
    },
  };
  if (operation.emptyStatus) all[operation.emptyStatus] = { description: "Success.", headers: rateLimitHeaders };
  const statuses = refusalsOf(operation).map((meaning) => problemStatuses[meaning]);
  for (const status of [...new Set(statuses)].sort((a, b) => a - b)) {
    const isUnasked = status === 401 || (status === 413 && operation.isLimitFirst === true);
    all[status] = refusal(reasons[status]!, status, components, isUnasked);
  }
  all.default = refusal("Any other refusal or fault, in the same form.", undefined, components);
  return all;
}

/** Where it is not known who asks, nothing is known of their limits. */
function refusal(description: string, status: number | undefined, components: Components, isUnasked = false): Json {
  const headers: Json = isUnasked ? {} : { ...rateLimitHeaders };
  if (status === 429) headers["Retry-After"] = { $ref: "#/components/headers/Retry-After" };
  if (status === 405) headers.Allow = { $ref: "#/components/headers/Allow" };
  return {
    description,
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    content: { "application/problem+json": { schema: components.refer(ErrorObject) } },
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

function tagsOf(served: Operations): Json[] {
  const names = [...new Set(Object.values(served).map(({ tag }) => tag))];
  return names.map((name) => ({ name, description: tagDescriptions[name] }));
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
};
