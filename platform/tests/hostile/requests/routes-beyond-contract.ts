/** Routes that the contract does not hold: invocation, batches, the worker link, the node link, load balancing and the open pages. */
import type { Named, Route } from "./routes.ts";
import type { Schema } from "./schema-values.ts";

const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const object = (properties: Record<string, Schema>, required = Object.keys(properties)): Schema => ({
  type: "object",
  properties,
  required,
});

const state: Schema = {
  enum: ["IN_QUEUE", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"],
};
const record = object(
  { id: text, status: state, delayTime: count, executionTime: count, waitReason: text, workerId: text },
  ["id", "status"],
);
const standing = object({ id: text, status: state });
const list = (name: string) =>
  object({
    [name]: { type: "array", items: { type: "object" } },
    total: count,
    offset: count,
    limit: count,
    hasMore: { type: "boolean" },
  });
const batch = object(
  {
    id: text,
    endpointId: text,
    status: { enum: ["DRAFT", "FINALIZED", "FAILED", "CANCELLED"] },
    requestTotal: count,
    createdAt: count,
  },
  ["id", "status"],
);
const workerCounts = object({
  idle: count,
  initializing: count,
  ready: count,
  running: count,
  throttled: count,
  unhealthy: count,
});
const jobCounts = object({ completed: count, failed: count, inProgress: count, inQueue: count, retried: count });

const submission: Schema = {
  type: "object",
  required: ["input"],
  properties: {
    input: { type: "object", maxProperties: 50, properties: { prompt: { type: "string", maxLength: 1000 } } },
    webhook: { type: "string", maxLength: 2000 },
    policy: {
      type: "object",
      properties: {
        executionTimeout: { type: "integer", minimum: 5000, maximum: 604_800_000 },
        ttl: { type: "integer", minimum: 10_000, maximum: 604_800_000 },
        retries: { type: "integer", minimum: 0, maximum: 10 },
        lowPriority: { type: "boolean" },
      },
    },
    s3Config: {
      type: "object",
      properties: {
        accessId: { type: "string", maxLength: 100 },
        accessSecret: { type: "string", maxLength: 100 },
        bucketName: { type: "string", maxLength: 100 },
        endpointUrl: { type: "string", maxLength: 100 },
      },
    },
  },
};
const submissions: Schema = { type: "array", maxItems: 5000, items: submission };
const result: Schema = { type: "object", properties: { output: {}, error: { type: "string", maxLength: 1000 } } };
const chat: Schema = {
  type: "object",
  properties: {
    model: text,
    stream: { type: "boolean" },
    messages: { type: "array", maxItems: 10, items: { type: "object" } },
  },
};

const wait: Schema = { type: "integer", minimum: 1000, maximum: 300_000 };
const page = {
  limit: { type: "integer", minimum: 1, maximum: 1000 },
  offset: { type: "integer", minimum: 0, maximum: 1_000_000 },
};

type Given = Partial<Route> & Pick<Route, "success">;

const INVOKE_REFUSALS = [400, 401, 403, 404, 405, 409, 410, 413, 422, 429];

const kinds: Record<string, Named> = {
  endpoint: "endpoint",
  job: "job",
  batch: "batch",
  request: "request",
  worker: "worker",
  machine: "machine",
  rest: "rest",
};

function route(method: string, path: string, given: Given): Route {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  return {
    name: `${method} ${path}`,
    method,
    path,
    params: Object.fromEntries(names.map((name) => [name, kinds[name]!])),
    query: {},
    headers: [],
    form: "flat",
    key: "account",
    of: "any",
    refusals: INVOKE_REFUSALS,
    faults: [],
    mayLast: false,
    ...given,
  };
}

const of = (rest: string) => `/v2/{endpoint}${rest}`;
const both = (path: string, given: Given) => ["GET", "POST"].map((method) => route(method, path, given));

const invocation = [
  route("POST", of("/run"), { body: submission, headers: ["Idempotency-Key"], success: { 200: standing } }),
  route("POST", of("/runsync"), {
    ...{ body: submission, query: { wait }, headers: ["Idempotency-Key"] },
    ...{ success: { 200: record }, mayLast: true },
  }),
  ...both(of("/status/{job}"), {
    query: { ttl: { type: "integer", minimum: 1, maximum: 604_800_000 } },
    success: { 200: record },
  }),
  ...both(of("/status-sync/{job}"), { query: { wait }, success: { 200: record }, mayLast: true }),
  route("POST", of("/cancel/{job}"), { success: { 200: standing } }),
  route("POST", of("/retry/{job}"), { success: { 200: standing } }),
  route("POST", of("/purge-queue"), { success: { 200: object({ removed: count, status: { const: "completed" } }) } }),
  ...both(of("/stream/{job}"), {
    query: {
      wait,
      format: { enum: ["array", "object", "events"] },
      from: { type: "string", pattern: "^\\d{1,3}\\.\\d{1,3}$" },
    },
    ...{ headers: ["Last-Event-ID", "Accept"], success: { 200: undefined }, mayLast: true },
  }),
  route("GET", of("/output/{job}"), {
    query: { attempt: { type: "integer", minimum: 1, maximum: 10 }, signature: text },
    ...{ headers: ["Range"], success: { 200: undefined, 206: undefined }, refusals: [...INVOKE_REFUSALS, 416] },
  }),
  // What a worker failed with, and that none answered in time, is told by the status here: its clients read nothing else.
  ...both(of("/openai/{rest}"), { body: chat, success: { 200: undefined }, faults: [500, 503, 504], mayLast: true }),
  route("GET", of("/requests"), {
    query: { ...page, status: { enum: ["FAILED", "IN_QUEUE", "failed,timed_out"] } },
    success: { 200: list("requests") },
  }),
  route("GET", of("/metrics"), {
    success: {
      200: object({ workers: workerCounts, readyWorkers: { type: "array", items: {} }, staleReports: count }),
    },
  }),
  route("GET", of("/health"), { success: { 200: object({ jobs: jobCounts, workers: workerCounts }) } }),
];

const batches = [
  route("GET", of("/batch"), { query: page, success: { 200: list("batches") } }),
  route("POST", of("/batch"), {
    body: submissions,
    success: { 200: object({ id: text, status: { const: "DRAFT" }, requestIds: { type: "array", items: text } }) },
  }),
  route("GET", of("/batch/{batch}"), { success: { 200: batch } }),
  route("PUT", of("/batch/{batch}"), {
    body: {
      type: "object",
      required: ["displayName"],
      properties: { displayName: { type: "string", maxLength: 255 } },
    },
    success: { 200: batch },
  }),
  route("GET", of("/batch/{batch}/requests"), { query: page, success: { 200: list("requests") } }),
  route("POST", of("/batch/{batch}/requests"), { body: submissions, success: { 200: batch } }),
  route("DELETE", of("/batch/{batch}/requests/{request}"), { success: { 200: object({ id: text, batchId: text }) } }),
  route("POST", of("/batch/{batch}/finalize"), { success: { 200: batch } }),
  route("POST", of("/batch/{batch}/cancel"), { success: { 200: batch } }),
];

const numbered = {
  attempt: { type: "integer", minimum: 1, maximum: 5 },
  sequence: { type: "integer", minimum: 1, maximum: 100 },
};
const WORKER = { key: "worker", refusals: [...INVOKE_REFUSALS, 415] } as const;
const empty = { type: "object" } as const;

const workerLink = [
  route("GET", of("/job-take/{worker}"), {
    ...WORKER,
    success: { 200: object({ id: text }), 204: undefined },
    mayLast: true,
  }),
  route("GET", of("/job-take-batch/{worker}"), {
    ...{ ...WORKER, query: { batch_size: { type: "integer", minimum: 1, maximum: 1000 } } },
    ...{ success: { 200: { type: "array", items: object({ id: text }) }, 204: undefined }, mayLast: true },
  }),
  route("POST", of("/job-done/{worker}/{job}"), { ...WORKER, body: result, query: numbered, success: { 200: empty } }),
  route("POST", of("/job-stream/{worker}/{job}"), {
    ...WORKER,
    body: result,
    query: numbered,
    success: { 200: empty },
  }),
  route("GET", of("/job-stop/{worker}"), {
    ...WORKER,
    success: { 200: object({ jobsToStop: { type: "array", items: {} } }), 204: undefined },
    mayLast: true,
  }),
  route("GET", of("/ping/{worker}"), {
    ...{ ...WORKER, success: { 200: empty } },
    query: {
      job_id: text,
      runpod_version: text,
      status: { enum: ["unhealthy", "healthy"] },
      check: text,
      reason: text,
    },
  }),
  route("POST", of("/job-exchange/{worker}"), {
    ...{
      ...WORKER,
      text: true,
      query: {
        take: { type: "integer", minimum: 0, maximum: 1000 },
        wait: { type: "integer", minimum: 0, maximum: 60_000 },
      },
    },
    ...{ success: { 200: undefined, 204: undefined }, mayLast: true },
  }),
];

const nodeLink = ["log", "connection"].map((what) =>
  route("GET", `/nodes/{machine}/endpoints/{endpoint}/workers/{worker}/${what}`, {
    ...{ form: "problem", key: "node", mayLast: true, success: { 101: undefined, 200: undefined } },
    // A worker that does not take a connection is told as what it is.
    ...{ query: what === "log" ? { from: { type: "string", maxLength: 100 } } : {}, faults: [502, 503] },
  }),
);

/** What the program behind it answers is its own; these are the refusals of the proxy. */
const balanced = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"].map((method) =>
  route(method, of("/{rest}"), {
    ...{ of: "app", body: { type: "object" }, success: { 200: undefined }, faults: [502, 503, 504], mayLast: true },
    refusals: [...INVOKE_REFUSALS, 408, 415],
  }),
);

const open = [
  "/",
  "/docs",
  "/docs/start.js",
  "/docs/swagger-ui.css",
  "/docs/swagger-ui-bundle.js",
  "/v2/openapi.json",
].map((path) =>
  route("GET", path, { form: "open", key: "none", success: { 200: undefined }, refusals: [401, 404, 405] }),
);

export const beyondContract: readonly Route[] = [
  ...invocation,
  ...batches,
  ...workerLink,
  ...nodeLink,
  ...balanced,
  ...open,
];
