/** The retirement headers of every REST v1 answer: since when it is deprecated, when it ends, and what replaces it. */
import { JSON_TYPE } from "../http/pipeline.ts";
import type { Answering, Request } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { refusedWith } from "./refusals.ts";

/** 1 June 2026, in the form of RFC 9745. The specification says that v1 is deprecated, but not since when. The day is our choice. */
const DEPRECATED = "@1780272000";
/** The day that the specification names. The operator decides whether v1 really ends then. */
const SUNSET = "Sun, 15 Nov 2026 00:00:00 GMT";

/** The path in v2 of each collection in v1. */
const collections: Readonly<Record<string, string>> = {
  pods: "/v2/pods",
  endpoints: "/v2/serverless",
  templates: "/v2/templates",
  networkvolumes: "/v2/network-volumes",
  containerregistryauth: "/v2/registries",
  "billing/pods": "/v2/billing/pods",
  "billing/endpoints": "/v2/billing/serverless",
  "billing/networkvolumes": "/v2/billing/network-volumes",
  docs: "/docs",
};

/** Where v2 has no counterpart, its description is named. */
const DESCRIPTION = "/v2/openapi.json";
/** Only ids of this form are repeated in a header or an answer. */
const ID = /^[\w-]{1,64}$/;
const ACTIONS = ["start", "resume", "stop", "restart"];

/** Finds the counterpart in v2 of a path in v1. */
export function successorOf(path: string): string {
  const [, , first = "", second = "", third = ""] = path.split("/");
  const billing = collections[`${first}/${second}`];
  if (billing !== undefined) return billing;
  const collection = Object.hasOwn(collections, first) ? collections[first] : undefined;
  if (collection === undefined) return DESCRIPTION;
  if (!ID.test(second)) return collection;
  return `${collection}/${second}${ACTIONS.includes(third) ? "/action" : ""}`;
}

const pathOf = ({ url }: Request) => url.split("?", 1)[0]!;

export function retirementHeaders(request: Request): Record<string, string> {
  const successor = successorOf(pathOf(request));
  return { Deprecation: DEPRECATED, Sunset: SUNSET, Link: `<${successor}>; rel="successor-version"` };
}

/** For operators who have switched v1 off. The answer needs no key: anyone may learn that v1 is gone. */
export function mountRetired(router: Router): void {
  const gone: Answering = (request, reply) => {
    const successor = successorOf(pathOf(request));
    const { status, body } = refusedWith(410, `REST v1 is switched off here. Use REST v2 instead: ${successor}.`);
    Object.assign(reply.headers, retirementHeaders(request));
    return reply.code(status).type(JSON_TYPE).send(body);
  };
  for (const path of ["/v1", "/v1/{path*}"]) router.addRefusal(path, gone);
}

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

export const retirementHeaderDescriptions = {
  Deprecation: text("Since when REST v1 is deprecated, as RFC 9745 has it.", DEPRECATED),
  Sunset: text("When REST v1 is meant to be over (RFC 8594).", SUNSET),
  Link: text("Where REST v2 has the same.", '</v2/pods>; rel="successor-version"'),
};
