/** Operations on serverless endpoints. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { Endpoint } from "./model.ts";

const on = operationsOn(Endpoint, "/v2/serverless", {
  tag: "Serverless",
  scope: "serverless",
  narrowed: "own",
  one: "an endpoint",
  many: "endpoints",
});

export const endpointOperations = {
  listEndpoints: on.list(),
  createEndpoint: on.create({
    description: "From `templateId`, or from `name`, `image` and one of `gpu` and `cpu`.",
    narrowed: "refused",
    refuses: ["not-found"],
  }),
  getEndpoint: on.get(),
  updateEndpoint: on.update({
    description:
      "Changes only the fields sent. Workers, scaling and timeout apply at once; what concerns the container makes a new release. " +
      "`env` and `cpu` replace the whole value; an endpoint keeps its compute family and its type.",
  }),
  deleteEndpoint: on.remove({
    description: "Cancels its jobs, ends its workers, and removes its configuration, logs and job history for good.",
  }),
} satisfies Operations;
