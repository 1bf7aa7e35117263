/** The one table of what REST v2 can say and older surfaces cannot; the docs print it. Older surfaces leave those fields unchanged. */

export interface Unsayable {
  /** The resource, and its field in REST v2. Nested fields have dots. */
  resource: "endpoint" | "Pod" | "template";
  field: string;
  /** The values that are meant; all values if absent. */
  values?: string;
  /** What the surface shows instead, or null if it shows the value as it is. */
  restV1: string | null;
  graphql: string | null;
}

const NOTHING = "nothing";
const ONE_TEXT = "as one text, `dockerArgs`";

/** GraphQL clients send these fields empty when they have nothing to set. */
const emptied = (resource: Unsayable["resource"], ...fields: string[]): Unsayable[] =>
  fields.map((field) => ({
    ...{ resource, field, values: "removing the value" },
    ...{ restV1: null, graphql: "nothing: an empty text changes nothing" },
  }));

export const unsayable: readonly Unsayable[] = [
  {
    ...{ resource: "endpoint", field: "scaling.queueDelay", values: "fractions of a second, such as 0.5" },
    ...{ restV1: "the next whole number in `scalerValue`", graphql: "the next whole number in `scalerValue`" },
  },
  {
    ...{ resource: "endpoint", field: "flashboot", values: "PRIORITY_FLASHBOOT" },
    ...{ restV1: "`flashboot: true`, which does not change it", graphql: null },
  },
  { resource: "endpoint", field: "workers.warmup", restV1: NOTHING, graphql: NOTHING },
  { resource: "endpoint", field: "entrypoint", restV1: null, graphql: ONE_TEXT },
  { resource: "endpoint", field: "cmd", restV1: null, graphql: ONE_TEXT },
  { resource: "Pod", field: "idleTimeout", restV1: NOTHING, graphql: NOTHING },
  { resource: "Pod", field: "entrypoint", restV1: null, graphql: ONE_TEXT },
  { resource: "Pod", field: "cmd", restV1: null, graphql: ONE_TEXT },
  {
    ...{ resource: "endpoint", field: "type", values: "LOAD_BALANCER" },
    ...{ restV1: "nothing: it always makes endpoints with a queue", graphql: null },
  },
  ...emptied("endpoint", "gpu.allowedCudaVersions", "gpu.minCudaVersion"),
  ...emptied("template", "ports", "registry"),
  ...emptied("Pod", "ports", "registry"),
];
