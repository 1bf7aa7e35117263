/** The OpenAPI document for programs, and a page of it for people. Both are open: they hold nothing of any account. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { FastifyInstance } from "fastify";
import { openApiDocument } from "./openapi.ts";

const assets = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
} as const;

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="page"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`;

const startScript = `SwaggerUIBundle({ url: "/v2/openapi.json", dom_id: "#page", deepLinking: true, persistAuthorization: false });\n`;

const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

export function mountDocs(app: FastifyInstance): void {
  let document: Buffer | undefined;
  app.get("/v2/openapi.json", (_request, reply) => {
    // As bytes, of which all answers share one copy.
    document ??= Buffer.from(JSON.stringify(openApiDocument()));
    return reply.type("application/json; charset=utf-8").send(document);
  });
  app.get("/docs", (_request, reply) =>
    reply.type("text/html; charset=utf-8").header("Content-Security-Policy", contentSecurityPolicy).send(page),
  );
  app.get("/docs/start.js", (_request, reply) => reply.type("text/javascript; charset=utf-8").send(startScript));
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  for (const [name, type] of Object.entries(assets)) {
    let file: Promise<Buffer> | undefined;
    app.get(`/docs/${name}`, async (_request, reply) => {
      // Read once: a file open for each answer that nobody reads would take the server's descriptors.
      file ??= readFile(join(folder, name)).catch((error) => {
        file = undefined;
        throw error;
      });
      return reply
        .type(type)
        .header("Cache-Control", "public, max-age=86400")
        .send(await file);
    });
  }
}
