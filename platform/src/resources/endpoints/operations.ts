/** Operations on serverless endpoints. */
import { Pagination, pageQuery } from "../../kernel/cursor.ts";
import type { Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { Endpoint } from "./model.ts";

const tag = "Serverless";

export const endpointOperations = {
  listEndpoints: {
    method: "GET",
    path: "/v2/serverless",
    summary: "List endpoints",
    description: "Newest first.",
    tag,
    query: t.Object(pageQuery),
    out: t.Object({ endpoints: t.Array(Endpoint.record), pagination: Pagination }),
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
  createEndpoint: {
    method: "POST",
    path: "/v2/serverless",
    summary: "Create an endpoint",
    description: "From `templateId`, or from `name`, `image` and one of `gpu` and `cpu`.",
    tag,
    in: Endpoint.create,
    out: Endpoint.record,
    status: 201,
    scope: "serverless:write",
    narrowed: "refused",
    refuses: ["not-found"],
  },
  getEndpoint: {
    method: "GET",
    path: "/v2/serverless/{id}",
    summary: "Get an endpoint",
    tag,
    out: Endpoint.record,
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
  updateEndpoint: {
    method: "PATCH",
    path: "/v2/serverless/{id}",
    summary: "Update an endpoint",
    description:
      "Changes only the fields sent. Workers, scaling and timeout apply at once; what concerns the container makes a new release. " +
      "`env` and `cpu` replace the whole value; an endpoint keeps its compute family and its type.",
    tag,
    in: Endpoint.update,
    out: Endpoint.record,
    status: 200,
    scope: "serverless:write",
    narrowed: "own",
  },
  deleteEndpoint: {
    method: "DELETE",
    path: "/v2/serverless/{id}",
    summary: "Delete an endpoint",
    description: "Cancels its jobs, ends its workers, and removes its configuration, logs and job history for good.",
    tag,
    status: 204,
    scope: "serverless:write",
    narrowed: "own",
  },
} as const satisfies Operations;
