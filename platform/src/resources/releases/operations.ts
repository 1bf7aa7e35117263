/** Operations on the releases of an endpoint. */

import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { nullable, t } from "../../kernel/schema.ts";
import { Release, Rollout } from "./model.ts";

export const releaseOperations = {
  listEndpointReleases: {
    method: "GET",
    path: "/v2/serverless/{id}/releases",
    summary: "List an endpoint's releases",
    description: "Newest first, with how far the workers have come to the newest one.",
    tag: "Serverless",
    query: t.Object(pageQuery),
    out: t.Object({
      rollout: Rollout,
      releases: t.Array(Release),
      endpointVersion: t.Optional(nullable(t.Integer({ description: "The newest release." }))),
      pagination: Pagination,
    }),
    status: 200,
    scope: "serverless:read",
    narrowed: "own",
  },
} as const satisfies Operations;
