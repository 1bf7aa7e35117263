/** Routes that no document contains: those between nodes, and the public pages. */
import type { Named, Route } from "./routes.ts";

type Given = Partial<Route> & Pick<Route, "success">;

/** No account owns a model, so another id stands for one. */
const kinds: Record<string, Named> = {
  ...{ endpoint: "endpoint", worker: "worker", machine: "machine", holder: "machine", model: "volume" },
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
    form: "problem",
    key: "none",
    of: "any",
    refusals: [400, 401, 404, 405],
    faults: [],
    mayLast: false,
    ...given,
  };
}

const nodeLink = ["log", "connection"].map((what) =>
  route("GET", `/nodes/{machine}/instances/{worker}/${what}/of/{endpoint}`, {
    ...{ form: "problem", key: "node", mayLast: true, success: { 101: undefined, 200: undefined } },
    // A worker that accepts no connection is reported with these statuses.
    ...{ query: what === "log" ? { from: { type: "string", maxLength: 100 } } : {}, faults: [502, 503] },
    // A log request must say where to begin, and the server checks the form.
    ...(what === "log" && { refusals: [400, 401, 404, 405, 422] }),
  }),
);

/** Files of models for other nodes. A request may ask for a part of a file. */
const modelLink = route("GET", "/nodes/{machine}/models/{model}/at/{holder}", {
  ...{ form: "problem", key: "node", success: { 200: undefined, 206: undefined, 304: undefined } },
  query: { revision: { type: "string", maxLength: 100 }, path: { type: "string", maxLength: 1024 } },
  refusals: [400, 401, 404, 405, 416],
});

const open = ["/", "/docs", "/docs/jobs", "/v2/openapi-invoke.json", "/v2/openapi.json", "/v1/openapi.json"].map(
  (path) =>
    // The console and the documentation may still be building.
    route("GET", path, {
      form: "open",
      key: "none",
      success: { 200: undefined },
      refusals: [401, 404, 405],
      faults: [503],
    }),
);
const moved = [
  route("GET", "/v1/docs", { form: "open", key: "none", success: { 302: undefined }, refusals: [401, 404, 405] }),
];

const probes = ["/healthz", "/readyz", "/favicon.ico"].map((path) =>
  route("GET", path, {
    form: "open",
    key: "none",
    success: { 200: undefined, 204: undefined },
    refusals: [401, 404, 405],
  }),
);

const metrics = route("GET", "/metrics", {
  form: "problem",
  key: "account",
  success: { 200: undefined },
  refusals: [400, 401, 403, 405],
});

const POD =
  "id name desiredStatus costPerHr env ports runtime { ports { ip publicPort } } machine { podHostId gpuType { id } }";

/** The queries of public clients, and mutations that create and end things by themselves. */
const documents = [
  `query { myself { id email clientBalance currentSpendPerHr spendLimit pubKey pods { ${POD} } endpoints { id name gpuIds template { id } } } }`,
  "query { myself { networkVolumes { id size dataCenter { id } } containerRegistryCreds { id } secrets { id name } clusters { id pods { id } } } }",
  `query pod($id: String) { pod(input: { podId: $id }) { ${POD} } }`,
  "query ($id: String, $n: Int) { gpuTypes(input: { id: $id }) { id lowestPrice(input: { gpuCount: $n }) { stockStatus } } cpuFlavors { id } }",
  "query ($id: String) { podTemplate(id: $id) { id name env { key value } } dataCenters { id gpuAvailability { stockStatus } } }",
  "mutation ($id: String) { podTerminate(input: { podId: $id }) }",
  "mutation ($id: String, $n: Int) { podResume(input: { podId: $id, gpuCount: $n }) { id desiredStatus } }",
  "mutation ($id: String) { deleteEndpoint(id: $id) deleteTemplate(templateName: $id) secretDelete(id: $id) }",
  "mutation ($id: String, $n: Int) { createNetworkVolume(input: { name: $id, size: $n, dataCenterId: $id }) { id } }",
];

const graph = route("POST", "/graphql", {
  form: "graph",
  key: "account",
  success: { 200: undefined },
  refusals: [400, 401, 405, 413, 415, 429],
  query: { api_key: { type: "string", maxLength: 40 } },
  body: {
    type: "object",
    required: ["query"],
    properties: {
      query: { type: "string", enum: documents },
      operationName: { type: "string", maxLength: 20 },
      variables: {
        type: "object",
        properties: { id: { type: "string", maxLength: 40 }, n: { type: "integer", minimum: -10, maximum: 10_000 } },
      },
    },
  },
});

export const beyondContract: readonly Route[] = [...nodeLink, modelLink, graph, ...open, ...moved, ...probes, metrics];
