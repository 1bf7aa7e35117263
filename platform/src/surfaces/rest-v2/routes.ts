/** REST v2: the operations of every resource under `/v2/<resource word>`, with problem+json refusals. */
import { resourceWords } from "../../contract.ts";
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Answered } from "../../guards/perform.ts";
import { problem } from "../../kernel/problem.ts";
import { orPage } from "../http/page.ts";
import type { Pipeline } from "../http/pipeline.ts";
import { problemJson } from "../http/problem-json.ts";
import type { Answering } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import type { Surface } from "../http/surface.ts";

export function restV2Surface(authenticator: Authenticator): Surface {
  return {
    name: "rest-v2",
    authenticate: ({ headers }) => authenticator.bearer(headers.authorization),
    limited: true,
    strictMediaType: true,
    refusal: problemJson,
    logged: true,
  };
}

export interface RestParts {
  pipeline: Pipeline;
  surface: Surface;
  /** Those of the contract, and any that are served beside it. */
  resources: readonly Answered[];
  /** What addresses on the page for people begin with; by default, as they came to it. */
  publicUrl: string | undefined;
}

export function mountRestV2(router: Router, { pipeline, surface, resources, publicUrl }: RestParts): void {
  for (const { operations, handlers } of resources) pipeline.mount(router, surface, operations, handlers);
  const paths = new Set(resources.flatMap(({ operations }) => Object.values(operations).map(({ path }) => path)));
  const unknown: Answering = (request, reply) =>
    pipeline.refuse(surface, problem("not-found", "The requested path was not found."), request, reply);
  // Without these, `/v2/pods/run` would be taken for the endpoint called "pods".
  for (const word of resourceWords) {
    router.addRefusal(`/v2/${word}/{path*}`, unknown);
    if (!paths.has(`/v2/${word}`) && !word.endsWith(".json")) router.addRefusal(`/v2/${word}`, unknown);
  }
  router.unknown = orPage(unknown, publicUrl);
}
