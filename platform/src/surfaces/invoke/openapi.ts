/** Makes the OpenAPI document of endpoint calls and the worker link from the same operations that are mounted. */
import { endpointCalls } from "../../contract.ts";
import type { Method } from "../../kernel/operation.ts";
import {
  type BodyForms,
  inJson,
  methodsOf,
  type RawAnswer,
  type RawOperation,
  type RawOperations,
} from "../../kernel/raw-operation.ts";
import { t } from "../../kernel/schema.ts";
import { Components, type Json, parametersIn, pathParameter } from "../http/openapi-schemas.ts";
import { reasonHeader } from "../http/refusal.ts";

const FlatError = t.Object(
  {
    error: t.String({ description: "What was refused; a fixed word where clients compare it." }),
    message: t.String({ description: "Why, for people." }),
  },
  { $id: "FlatError" },
);

const reasons: Record<number, string> = {
  400: "The request is malformed, or does not fit the state of what it is about.",
  401: "The key is missing or wrong.",
  403: "The key is valid, but may not do this.",
  404: "The endpoint, the job or the batch does not exist, has expired, or belongs to others.",
  405: "The path exists, but not with this method; `Allow` lists the methods it has.",
  409: "The `Idempotency-Key` was used with another body.",
  413: "The body is larger than this operation takes.",
  416: "The output does not have the stretch that was asked for.",
  429: "Too much at once, too often, or too many: `message` says of what. `Retry-After` says when to try again where that is known.",
  502: "The worker's answer is none.",
  503: "The server or its workers cannot take it now: try again.",
  504: "The worker did not answer in time.",
};

/** Statuses of the refusals that any operation can give. */
const ALWAYS: Record<RawOperation["key"], readonly number[]> = {
  caller: [401, 403, 405, 429, 503],
  "caller or link": [401, 403, 405, 429, 503],
  worker: [401, 429, 503],
};

const security: Record<RawOperation["key"], Json[]> = {
  caller: [{ bearer: [] }, { bareKey: [] }],
  "caller or link": [{ bearer: [] }, { bareKey: [] }, {}],
  worker: [{ workerKey: [] }],
};

const tagDescriptions: Record<string, string> = {
  Jobs: "Jobs of an endpoint with a queue.",
  OpenAI: "The same in the words of OpenAI's API.",
  Batches: "Many requests that are gathered first, and then become jobs together.",
  "Load balancing": "Requests that go straight to a worker.",
  "Worker link": "What workers ask for. They are told these addresses by their environment.",
};

export function invokeDocument(served: RawOperations = endpointCalls): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const [name, operation] of Object.entries(served)) {
    const path = documentedPath(operation.path);
    const described = methodsOf(operation).map((method) => [
      method.toLowerCase(),
      describe(operationId(name, operation, method), operation, method, components),
    ]);
    paths[path] = { ...paths[path], ...Object.fromEntries(described) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace endpoints",
      version: "2.0.0",
      description:
        "Calls of serverless endpoints, with a queue or load-balancing, and the link over which workers take jobs. What makes and changes endpoints is in the document of REST v2.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "The server that this document came from." }],
    security: security.caller,
    tags: [...new Set(Object.values(served).map(({ tag }) => tag))].map((name) => ({
      name,
      description: tagDescriptions[name],
    })),
    paths,
    components: {
      securitySchemes,
      headers: headerComponents,
      responses: refusalComponents(components),
      schemas: components.schemas,
    },
  };
}

/** `{path*}` also takes slashes. OpenAPI has no notation for that, so the parameter's description says it. */
export const documentedPath = (path: string) => path.replace(/\{(\w+)\*\}$/, "{$1}");

const operationId = (name: string, { method: first }: RawOperation, method: Method) =>
  method === first ? name : `${name}By${method[0]}${method.slice(1).toLowerCase()}`;

function describe(id: string, operation: RawOperation, method: Method, components: Components): Json {
  const { path, summary, description, tag, query, headers, body, key, scope, method: first } = operation;
  const alias = method === first || operation.tag === "Load balancing" ? "" : `The same as ${first}.`;
  return {
    operationId: id,
    summary,
    description: [description, alias, scope && `Needs the scope \`${scope}\`.`].filter(Boolean).join("\n\n"),
    tags: [tag],
    security: security[key],
    parameters: [
      ...[...path.matchAll(/\{(\w+)(\*?)\}/g)].map(([, name, star]) => pathParameterOf(name!, star === "*")),
      ...parametersIn("query", query, components),
      ...parametersIn("header", headers, components),
    ],
    ...(body && method !== "GET"
      ? { requestBody: { required: body.required, content: contentOf(body.content, components, true) } }
      : {}),
    responses: responses(operation, components),
  };
}

function pathParameterOf(name: string, takesSlashes: boolean): Json {
  if (!takesSlashes) return pathParameter(name);
  const description = "All of the path that is left, slashes included.";
  return { name, in: "path", required: true, description, schema: { type: "string" } };
}

function responses({ answers, refuses, key }: RawOperation, components: Components): Json {
  const all: Json = {};
  for (const [status, answer] of Object.entries(answers)) all[status] = answered(answer, components);
  for (const status of [...new Set([...ALWAYS[key], ...refuses])].sort((a, b) => a - b))
    all[status] ??= { $ref: `#/components/responses/Refusal${status}` };
  all.default = { $ref: "#/components/responses/Refusal" };
  return all;
}

function refusalComponents(components: Components): Json {
  const named = Object.entries(reasons).map(([status, why]) => [
    `Refusal${status}`,
    refusal(why, Number(status), components),
  ]);
  const other = refusal("Any other refusal or fault, in the same form.", undefined, components);
  return { ...Object.fromEntries(named), Refusal: other };
}

function answered({ description, content, headers }: RawAnswer, components: Components): Json {
  const own = Object.entries(headers ?? {}).map(([name, says]) => [
    name,
    { description: says, schema: { type: "string" } },
  ]);
  return {
    description,
    ...(own.length > 0 ? { headers: Object.fromEntries(own) } : {}),
    ...(content ? { content: contentOf(content, components) } : {}),
  };
}

function refusal(description: string, status: number | undefined, components: Components): Json {
  const headers: Json = { "X-Reason-Code": { $ref: "#/components/headers/X-Reason-Code" } };
  if (status === 429) headers["Retry-After"] = { $ref: "#/components/headers/Retry-After" };
  if (status === 405) headers.Allow = { $ref: "#/components/headers/Allow" };
  return {
    description,
    headers,
    content: contentOf(inJson(FlatError), components),
  };
}

function contentOf(forms: BodyForms, components: Components, isRequest = false): Json {
  const described = Object.entries(forms).map(([type, { schema, example }]) => [
    type,
    { schema: components.refer(schema, isRequest), ...(example === undefined ? {} : { example }) },
  ]);
  return Object.fromEntries(described);
}

const securitySchemes = {
  bearer: { type: "http", scheme: "bearer", description: "An API key, as public clients send it." },
  bareKey: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "An API key without a scheme, as the specification shows it.",
  },
  workerKey: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description:
      "The key that a worker finds in its environment; it opens nothing but the worker link of its endpoint.",
  },
};

const headerComponents = {
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
  Allow: { description: "Methods that the path has.", schema: { type: "string" } },
  "X-Reason-Code": reasonHeader,
};
