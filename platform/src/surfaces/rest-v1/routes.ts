/** REST v1: the operations of every resource under `/v1`, with refusals that have a `message`. */
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Answered } from "../../guards/perform.ts";
import { problem } from "../../kernel/problem.ts";
import type { Pipeline } from "../http/pipeline.ts";
import type { Answering } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import type { Surface } from "../http/surface.ts";
import { messageJson } from "./refusals.ts";
import { retirementHeaders } from "./retirement.ts";

export function restV1Surface(authenticator: Authenticator): Surface {
  return {
    name: "rest-v1",
    authenticate: (request) => authenticator.caller(request),
    limited: true,
    strictMediaType: true,
    refusal: messageJson,
    headers: retirementHeaders,
    logged: true,
  };
}

export interface RestV1Parts {
  pipeline: Pipeline;
  surface: Surface;
  resources: readonly Answered[];
}

export function mountRestV1(router: Router, { pipeline, surface, resources }: RestV1Parts): void {
  for (const resource of resources) pipeline.mount(router, surface, resource);
  const unknown: Answering = (request, reply) =>
    pipeline.refuse(surface, problem("not-found", "The requested path was not found."), request, reply);
  for (const path of ["/v1", "/v1/{path*}"]) router.addRefusal(path, unknown);
}
