/** REST v2: the operations of every resource under `/v2/<resource word>`, with problem+json refusals. */
import { resourceWords } from "../../contract.ts";
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Answered } from "../../guards/perform.ts";
import { problem } from "../../kernel/problem.ts";
import type { ConsolePages } from "../console/pages.ts";
import { orPage } from "../http/page.ts";
import type { Pipeline } from "../http/pipeline.ts";
import { problemJson } from "../http/problem-json.ts";
import type { Answering } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import type { Surface } from "../http/surface.ts";
import { browserOf, openSurface } from "./browsers.ts";

export function restV2Surface(authenticator: Authenticator, publicUrl?: string): Surface {
  return {
    name: "rest-v2",
    authenticate: (request) => authenticator.caller(request),
    limited: true,
    strictMediaType: true,
    refusal: problemJson,
    logged: true,
    browser: (request, reply) => browserOf(request, reply, publicUrl),
  };
}

export interface RestParts {
  pipeline: Pipeline;
  surface: Surface;
  /** The resources of the contract, and any others that are served too. */
  resources: readonly Answered[];
  /** The start of the addresses on the page for people. By default, the address that the browser used. */
  publicUrl: string | undefined;
  /** The console, whose pages are at every path that nothing else uses. */
  pages: ConsolePages | undefined;
}

export function mountRestV2(router: Router, { pipeline, surface, resources, publicUrl, pages }: RestParts): void {
  const open = openSurface(surface, publicUrl);
  for (const resource of resources) pipeline.mount(router, resource.isOpen ? open : surface, resource, surface);
  const paths = new Set(resources.flatMap(({ operations }) => Object.values(operations).map(({ path }) => path)));
  const unknown: Answering = (request, reply) =>
    pipeline.refuse(surface, problem("not-found", "The requested path was not found."), request, reply);
  // Without these, `/v2/pods/run` would mean an endpoint called "pods".
  for (const word of resourceWords) {
    router.addRefusal(`/v2/${word}/{path*}`, unknown);
    if (!paths.has(`/v2/${word}`) && !word.endsWith(".json")) router.addRefusal(`/v2/${word}`, unknown);
  }
  const page = orPage(unknown, publicUrl);
  router.unknown = pages?.or(page) ?? page;
}
