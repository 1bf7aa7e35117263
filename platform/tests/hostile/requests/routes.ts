/** Every route of the server as data: those in the contract's three documents, and those that no document contains. */
import { invokeDocument } from "../../../src/surfaces/invoke/openapi.ts";
import { restV1Document } from "../../../src/surfaces/rest-v1/openapi.ts";
import { openApiDocument } from "../../../src/surfaces/rest-v2/openapi.ts";
import { beyondContract } from "./routes-beyond-contract.ts";
import type { Schema } from "./schema-values.ts";

/** Decides which key is asked for and what a refusal looks like. */
export type Form = "problem" | "flat" | "graph" | "open";

/** The kinds of things that a path parameter can name. */
export type Named =
  | "endpoint"
  | "secret"
  | "apiKey"
  | "s3Key"
  | "publicEndpoint"
  | "listing"
  | "registry"
  | "delegation"
  | "template"
  | "pod"
  | "cluster"
  | "volume"
  | "catalog"
  | "worker"
  | "build"
  | "job"
  | "batch"
  | "request"
  | "machine"
  | "person"
  | "invitation"
  | "session"
  | "rest";

export interface Route {
  name: string;
  method: string;
  path: string;
  params: Record<string, Named>;
  query: Record<string, Schema>;
  headers: string[];
  body?: Schema;
  /** The body is plain text instead of JSON. */
  text?: true;
  form: Form;
  /** The kind of key that the route accepts. */
  key: "account" | "worker" | "node" | "none";
  /** The kind of endpoint that the route is called on. */
  of: "any" | "app";
  /** The schema of the body by status; undefined where there is no body or it may hold anything. */
  success: Record<number, Schema | undefined>;
  refusals: readonly number[];
  /** Server errors that the route declares. */
  faults: readonly number[];
  /** What the message of such an error must say, where the route has its own. */
  faultText?: RegExp;
  /** Whether the route may keep its caller waiting. */
  mayLast: boolean;
}

/** Statuses that every surface may answer to a request that is broken as HTTP. */
export const HTTP_REFUSALS = [400, 404, 405, 408, 411, 413, 414, 415, 417, 431];

interface Described {
  operationId: string;
  tags: string[];
  security?: Record<string, unknown>[];
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
}

const rest = openApiDocument() as unknown as Document;
const invoke = invokeDocument() as unknown as Document;
const restV1 = renamed(restV1Document() as unknown as Document, "V1");

export const components = { ...rest.components.schemas, ...invoke.components.schemas, ...restV1.components.schemas };

/** Renames the schemas, since another document has different ones with the same names. */
function renamed(document: Document, prefix: string): Document {
  const text = JSON.stringify(document).replaceAll('"#/components/schemas/', `"#/components/schemas/${prefix}`);
  const { components, ...rest } = JSON.parse(text) as Document;
  const schemas = Object.entries(components.schemas).map(([name, schema]) => [`${prefix}${name}`, schema]);
  return { ...rest, components: { schemas: Object.fromEntries(schemas) } };
}

const namedBy: [RegExp, Named][] = [
  [/^\/v2\/account\/secrets\//, "secret"],
  [/^\/v2\/account\/api-keys\//, "apiKey"],
  [/^\/v2\/account\/s3-keys\//, "s3Key"],
  [/^\/v2\/public-endpoints\//, "publicEndpoint"],
  [/^\/v2\/hub\/listings\//, "listing"],
  // A deployment has the id of its endpoint.
  [/^\/v2\/hub\/deployments\//, "endpoint"],
  [/^\/v2\/account\/people\//, "person"],
  [/^\/v2\/account\/invitations\//, "invitation"],
  [/^\/v2\/account\/sessions\//, "session"],
  [/^\/v2\/serverless\//, "endpoint"],
  [/^\/v2\/registries\/delegations\//, "delegation"],
  [/^\/v2\/registries\//, "registry"],
  [/^\/v2\/templates\//, "template"],
  [/^\/v2\/pods\//, "pod"],
  [/^\/v2\/clusters\//, "cluster"],
  [/^\/v2\/network-volumes\//, "volume"],
  [/^\/v2\/catalog\//, "catalog"],
  [/^\/v2\/installation\/(machines|nodes)\//, "machine"],
  [/^\/v1\/pods\//, "pod"],
  [/^\/v1\/endpoints\//, "endpoint"],
  [/^\/v1\/templates\//, "template"],
  [/^\/v1\/networkvolumes\//, "volume"],
  [/^\/v1\/containerregistryauth\//, "registry"],
];

/** What an account creates by REST v2, and the operations that create and remove it. */
export const things = {
  endpoint: { path: "/v2/serverless", create: "createEndpoint", remove: "deleteEndpoint" },
  secret: { path: "/v2/account/secrets", create: "createSecret", remove: "deleteSecret" },
  apiKey: { path: "/v2/account/api-keys", create: "createApiKey", remove: "deleteApiKey" },
  s3Key: { path: "/v2/account/s3-keys", create: "createS3Key", remove: "deleteS3Key" },
  publicEndpoint: { path: "/v2/public-endpoints", create: "createPublicEndpoint", remove: "deletePublicEndpoint" },
  registry: { path: "/v2/registries", create: "createRegistry", remove: "deleteRegistry" },
  delegation: { path: "/v2/registries/delegations", create: "createDelegation", remove: "revokeDelegation" },
  template: { path: "/v2/templates", create: "createTemplate", remove: "deleteTemplate" },
  volume: { path: "/v2/network-volumes", create: "createNetworkVolume", remove: "deleteNetworkVolume" },
  pod: { path: "/v2/pods", create: "createPod", remove: "deletePod" },
  cluster: { path: "/v2/clusters", create: "createCluster", remove: "deleteCluster" },
} as const satisfies Partial<Record<Named, { path: string; create: string; remove: string }>>;
export type Thing = keyof typeof things;
/** The operations of REST v1 that create these things. */
const madeByV1: Record<string, Thing> = {
  CreatePod: "pod",
  CreateEndpoint: "endpoint",
  CreateTemplate: "template",
  CreateNetworkVolume: "volume",
  CreateContainerRegistryAuth: "registry",
};
export const isMadeBy = (named: Thing, route: string): boolean =>
  things[named].create === route || madeByV1[route] === named;
export const thingNames = Object.keys(things) as Thing[];
const namedInside: Record<string, Named> = {
  workerId: "worker",
  buildId: "build",
  endpoint_id: "endpoint",
  job_id: "job",
  batch_id: "batch",
  request_id: "request",
  worker_id: "worker",
  path: "rest",
};

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
    // The contract's `default` also covers server errors, but no request may cause one.
    faults: statuses.filter((status) => status >= 500),
    mayLast: events,
  };
}

/** The only server error that a request may cause there says that there is no capacity. */
function fromV1(path: string, method: string, described: Described): Route {
  const route = fromContract(path, method, described);
  return { ...route, form: "flat", faultText: /There are no|not have the resources/ };
}

/** Routes that wait for something. */
const LASTING = /\/(runsync|status-sync|stream|openai|job-take|job-take-batch|job-stop|job-exchange)(\/|$)/;

function fromInvoke(path: string, method: string, described: Described): Route {
  const route = fromContract(path, method, described);
  const isOfApp = described.tags.includes("Load balancing");
  const isOfWorker = described.security?.some((scheme) => "workerKey" in scheme) ?? false;
  const isText = described.requestBody?.content["application/x-ndjson"] !== undefined;
  return {
    ...route,
    form: "flat",
    key: isOfWorker ? "worker" : "account",
    of: isOfApp ? "app" : "any",
    ...(isOfApp ? { success: { 200: undefined }, body: { type: "object" } } : {}),
    ...(isText ? { text: true as const } : {}),
    // A 503 concerns all accounts, so none of these requests may cause it.
    faults: isOfApp || path.includes("/openai/") ? route.faults : route.faults.filter((status) => status !== 503),
    mayLast: isOfApp || LASTING.test(path),
  };
}

const routesOf = ({ paths }: Document, from: typeof fromContract) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => from(path, method, described)),
  );

export const routes: readonly Route[] = [
  ...routesOf(rest, fromContract),
  ...routesOf(invoke, fromInvoke),
  ...routesOf(restV1, fromV1),
  ...beyondContract,
];
