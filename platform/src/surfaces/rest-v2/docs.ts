/** Serves the OpenAPI documents, and a page of them for people. All are public: they contain nothing of any account. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { problem } from "../../kernel/problem.ts";
import { problemJson } from "../http/problem-json.ts";
import type { Answering } from "../http/reply.ts";
import type { Router } from "../http/router.ts";
import { invokeDocument } from "../invoke/openapi.ts";
import { restV1Document } from "../rest-v1/openapi.ts";
import { retirementHeaders } from "../rest-v1/retirement.ts";
import { openApiDocument } from "./openapi.ts";

const assets = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui-standalone-preset.js": "text/javascript; charset=utf-8",
} as const;

const page = (script: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/swagger-ui-standalone-preset.js"></script>
<script src="${script}"></script>
</html>
`;

const documents = [
  { url: "/v2/openapi.json", name: "REST v2: what an account has", made: openApiDocument },
  { url: "/v2/openapi-invoke.json", name: "Endpoints: jobs, load balancing, workers", made: invokeDocument },
];

const OLD = {
  url: "/v1/openapi.json",
  page: "/v1/docs",
  name: "REST v1: deprecated, for clients that were written for it",
  made: restV1Document,
};

/** The bar at the top of the page lets people choose a document. */
const startScript = (served: readonly { url: string; name: string }[], first: string) => `SwaggerUIBundle({
  urls: ${JSON.stringify(served.map(({ url, name }) => ({ url, name })))},
  "urls.primaryName": ${JSON.stringify(first)},
  dom_id: "#page",
  deepLinking: true,
  persistAuthorization: false,
  layout: "StandaloneLayout",
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
});
`;

const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

export function mountDocs(router: Router, { restV1 }: { restV1: boolean }): void {
  const served = restV1 ? [...documents, OLD] : documents;
  for (const { url, made } of served) {
    let bytes: Buffer | undefined;
    router.add(["GET"], url, (request, reply) => {
      if (url === OLD.url) Object.assign(reply.headers, retirementHeaders(request));
      // Stored as bytes, so that all answers share one copy.
      bytes ??= Buffer.from(JSON.stringify(made()));
      return reply.type("application/json; charset=utf-8").send(bytes);
    });
  }
  mountPage(router, { path: "/docs", script: "/docs/start.js" }, startScript(served, documents[0]!.name));
  if (restV1) mountPage(router, { path: OLD.page, script: "/docs/start-v1.js" }, startScript(served, OLD.name));
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  for (const [name, type] of Object.entries(assets))
    router.add(["GET"], `/docs/${name}`, asset(join(folder, name), type));
}

/** Adds a page that begins with one of the documents. */
function mountPage(router: Router, { path, script }: { path: string; script: string }, text: string): void {
  router.add(["GET"], path, (request, reply) => {
    if (path === OLD.page) Object.assign(reply.headers, retirementHeaders(request));
    return reply
      .type("text/html; charset=utf-8")
      .header("Content-Security-Policy", contentSecurityPolicy)
      .send(page(script));
  });
  router.add(["GET"], script, (_request, reply) => reply.type("text/javascript; charset=utf-8").send(text));
}

/** Reads the file once. One open file per answer would use up the server's descriptors when clients do not read. */
function asset(path: string, type: string): Answering {
  let file: Promise<Buffer> | undefined;
  return async (_request, reply) => {
    try {
      file ??= readFile(path);
      const bytes = await file;
      return reply.type(type).header("Cache-Control", "public, max-age=86400").send(bytes);
    } catch {
      file = undefined;
      const { contentType, body } = problemJson(problem("unavailable", "The page cannot be read now; try again."));
      return reply.code(503).type(contentType).send(body);
    }
  };
}
