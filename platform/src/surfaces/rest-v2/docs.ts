/** Serves the OpenAPI documents. All are public: they contain nothing of any account. */
import type { Router } from "../http/router.ts";
import { invokeDocument } from "../invoke/openapi.ts";
import { restV1Document } from "../rest-v1/openapi.ts";
import { retirementHeaders } from "../rest-v1/retirement.ts";
import { openApiDocument } from "./openapi.ts";

const documents = [
  { url: "/v2/openapi.json", made: openApiDocument },
  { url: "/v2/openapi-invoke.json", made: invokeDocument },
];

const OLD = { url: "/v1/openapi.json", page: "/v1/docs", made: restV1Document };

export function mountDocs(router: Router, { restV1 }: { restV1: boolean }): void {
  for (const { url, made } of restV1 ? [...documents, OLD] : documents) {
    let bytes: Buffer | undefined;
    router.add(["GET"], url, (request, reply) => {
      if (url === OLD.url) Object.assign(reply.headers, retirementHeaders(request));
      // Stored as bytes, so that all answers share one copy.
      bytes ??= Buffer.from(JSON.stringify(made()));
      return reply.type("application/json; charset=utf-8").send(bytes);
    });
  }
  if (!restV1) return;
  router.add(["GET"], OLD.page, (request, reply) => {
    Object.assign(reply.headers, retirementHeaders(request));
    return reply.code(302).header("Location", "/docs/api/v1-pods").send("");
  });
}
