/** What REST v2 can say and an older surface cannot: one table, which the documents print. What a surface cannot say, it does not change. */

export interface Unsayable {
  /** The resource, and its field in REST v2; those of objects with a dot. */
  resource: "endpoint" | "Pod" | "template";
  field: string;
  /** Which of its values are meant; all of them where nothing is said. */
  values?: string;
  /** What the surface says of it; null where it says it as it is. */
  restV1: string | null;
  graphql: string | null;
}

const NOTHING = "nothing";
const ONE_TEXT = "in one text, `dockerArgs`";

/** Clients of GraphQL send these empty where they have nothing to say. */
const emptied = (resource: Unsayable["resource"], ...fields: string[]): Unsayable[] =>
  fields.map((field) => ({
    ...{ resource, field, values: "none, where there was something" },
    ...{ restV1: null, graphql: "nothing: an empty text leaves it" },
  }));

export const unsayable: readonly Unsayable[] = [
  {
    ...{ resource: "endpoint", field: "scaling.queueDelay", values: "parts of a second, such as 0.5" },
    ...{ restV1: "the next whole number in `scalerValue`", graphql: "the next whole number in `scalerValue`" },
  },
  {
    ...{ resource: "endpoint", field: "flashboot", values: "PRIORITY_FLASHBOOT" },
    ...{ restV1: "`flashboot: true`, which leaves it where it is so", graphql: null },
  },
  { resource: "endpoint", field: "workers.warmup", restV1: NOTHING, graphql: NOTHING },
  { resource: "endpoint", field: "entrypoint", restV1: null, graphql: ONE_TEXT },
  { resource: "endpoint", field: "cmd", restV1: null, graphql: ONE_TEXT },
  { resource: "Pod", field: "idleTimeout", restV1: NOTHING, graphql: NOTHING },
  { resource: "Pod", field: "entrypoint", restV1: null, graphql: ONE_TEXT },
  { resource: "Pod", field: "cmd", restV1: null, graphql: ONE_TEXT },
  {
    ...{ resource: "endpoint", field: "type", values: "LOAD_BALANCER" },
    ...{ restV1: "nothing: what it makes has a queue", graphql: null },
  },
  ...emptied("endpoint", "dataCenterIds", "networkVolumes", "gpu.allowedCudaVersions", "gpu.minCudaVersion"),
  ...emptied("template", "ports", "registry"),
  ...emptied("Pod", "ports", "registry"),
];
