/** Operations on builds. Clients ask for builds, and the answer is always that there are none. */

import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { t } from "../../kernel/schema.ts";
import { Build } from "./model.ts";

const tag = "Serverless";

export const buildOperations = {
  listEndpointBuilds: {
    method: "GET",
    path: "/v2/serverless/{id}/builds",
    summary: "List an endpoint's builds",
    description: "Always empty: Millrace runs images and builds none.",
    tag,
    query: t.Object({
      cursor: pageQuery.cursor,
      limit: t.Optional(t.Integer({ minimum: 1, maximum: 100, default: 100, description: "How many at most." })),
    }),
    out: t.Object({ builds: t.Array(Build), pagination: Pagination }),
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
  getEndpointBuild: {
    method: "GET",
    path: "/v2/serverless/{id}/builds/{buildId}",
    summary: "Get a build of an endpoint",
    description: "Always 404: Millrace runs images and builds none.",
    tag,
    out: Build,
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
} as const satisfies Operations;
