/** Every route of the server as data: those of the contract as it describes them, and those that it does not hold. */
import { openApiDocument } from "../../../src/surfaces/rest-v2/openapi.ts";
import { beyondContract } from "./routes-beyond-contract.ts";
import type { Schema } from "./schema-values.ts";

/** Decides who is asked for a key, and what a refusal looks like. */
export type Form = "problem" | "flat" | "open";

/** What a path parameter names. */
export type Named =
  | "endpoint"
  | "secret"
  | "apiKey"
  | "worker"
  | "build"
  | "job"
  | "batch"
  | "request"
  | "machine"
  | "rest";

export interface Route {
  name: string;
  method: string;
  path: string;
  params: Record<string, Named>;
  query: Record<string, Schema>;
  headers: string[];
  body?: Schema;
  /** Text that is no JSON, for a body that is none. */
  text?: true;
  form: Form;
  /** Which key opens it. */
  key: "account" | "worker" | "node" | "none";
  /** Which endpoint it is asked of. */
  of: "any" | "app";
  /** By status, the schema of a body; undefined where there is none or anything may be in it. */
  success: Record<number, Schema | undefined>;
  refusals: readonly number[];
  /** Faults that the route says it may have. */
  faults: readonly number[];
  /** It may keep its caller waiting. */
  mayLast: boolean;
}

/** What every surface may answer to a request that is broken as HTTP, whatever it was about. */
export const HTTP_REFUSALS = [400, 404, 405, 408, 411, 413, 414, 415, 417, 431];

interface Described {
  operationId: string;
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const document = openApiDocument() as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
};

export const components = document.components.schemas;

const namedBy: [RegExp, Named][] = [
  [/^\/v2\/account\/secrets\//, "secret"],
  [/^\/v2\/account\/api-keys\//, "apiKey"],
  [/^\/v2\/serverless\//, "endpoint"],
];
const namedInside: Record<string, Named> = { workerId: "worker", buildId: "build" };

function fromContract(path: string, method: string, described: Described): Route {
  const { operationId, parameters = [], requestBody, responses } = described;
  const names = parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
  const first = namedBy.find(([pattern]) => pattern.test(path))?.[1];
  const statuses = Object.keys(responses).map(Number).filter(Boolean);
  const events = Object.values(responses).some(({ content }) => content?.["text/event-stream"]);
  return {
    name: operationId,
    method: method.toUpperCase(),
    path,
    params: Object.fromEntries(names.map((name) => [name, namedInside[name] ?? first!])),
    query: Object.fromEntries(parameters.filter((one) => one.in === "query").map(({ name, schema }) => [name, schema])),
    headers: parameters.filter((one) => one.in === "header").map(({ name }) => name),
    body: requestBody?.content["application/json"]?.schema,
    form: "problem",
    key: "account",
    of: "any",
    success: Object.fromEntries(
      statuses
        .filter((status) => status < 400)
        .map((status) => [status, responses[status]?.content?.["application/json"]?.schema]),
    ),
    refusals: statuses.filter((status) => status >= 400 && status < 500),
    // The contract's `default` stands for faults too; none of them is one that a request may bring about.
    faults: statuses.filter((status) => status >= 500),
    mayLast: events,
  };
}

export const routes: readonly Route[] = [
  ...Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => fromContract(path, method, described)),
  ),
  ...beyondContract,
];
