/** The page for people who open the server's address, or an unknown path, in a browser. */
import { hash } from "node:crypto";
import Negotiator from "negotiator";
import manifest from "../../../package.json" with { type: "json" };
import type { Answering, Request } from "./reply.ts";

/** Longer paths are cut here, since the address bar shows them in full. */
const SHOWN_PATH = 101;
const HOST = /^[\w.:[\]-]+$/;

/** Only clients that ask for HTML get the page. Programs ask for JSON or for anything, and get what they always got. */
export function orPage(otherwise: Answering, publicUrl: string | undefined): Answering {
  return (request, reply, params) => {
    if (!wantsPage(request)) return otherwise(request, reply, params);
    const path = request.url.split("?", 1)[0]!;
    Object.assign(reply.headers, pageHeaders);
    return reply.code(path === "/" ? 200 : 404).send(page(path, publicUrl ?? addressOf(request)));
  };
}

export function wantsPage({ method, headers }: Request): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  return new Negotiator({ headers }).mediaType(["application/json", "text/html"]) === "text/html";
}

/** The address as the browser reached it. Behind a proxy with TLS this would be wrong, so there the public URL is used. */
function addressOf({ headers: { host = "" } }: Request): string {
  return HOST.test(host) ? `http://${host}` : "http://127.0.0.1:7420";
}

export const style = `
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6775; --line: #dfe4ea; --paper: #fff; --sunk: #f4f6f8; --water: #0b6bb8 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf1; --soft: #97a3b1; --line: #2c3540; --paper: #12171d; --sunk: #1a2129; --water: #62b5f5 }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.6 system-ui, sans-serif }
main { max-width: 42rem; margin: 0 auto; padding: 12vh 1.5rem 4rem }
h1 { margin: 0; font-size: 2.2rem; letter-spacing: -.02em; line-height: 1.2 }
h1 small { font-size: .95rem; font-weight: 400; letter-spacing: 0; color: var(--soft) }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.05rem }
p { margin: .6rem 0 }
a { color: var(--water) }
code, pre { font: .86em/1.6 ui-monospace, monospace }
code { overflow-wrap: anywhere }
pre { margin: 0; padding: 1rem 1.2rem; overflow-x: auto; background: var(--sunk); border: 1px solid var(--line); border-radius: 10px }
ul { margin: .6rem 0; padding: 0; list-style: none }
li { padding: .5rem 0; border-bottom: 1px solid var(--line); color: var(--soft) }
li a { display: inline-block; min-width: 10.5rem }
.nothing { margin: 0 0 2.5rem; padding: .8rem 1.2rem; border-left: 4px solid var(--water); background: var(--sunk); border-radius: 0 10px 10px 0 }
`;

export const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='5' fill='none' stroke='%230b6bb8' stroke-width='3' stroke-dasharray='3 2.2'/%3E%3C/svg%3E";

const pageHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
  Vary: "Accept",
};

function page(path: string, base: string): string {
  const nothing =
    path === "/" ? "" : `<p class="nothing"><b>Nothing here.</b> This server has no <code>${shown(path)}</code>.</p>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
<main>
${nothing}<h1>Millrace <small>${manifest.version}</small></h1>
<p>A self-hosted cloud compute platform: serverless endpoints, their queues and their workers, on your own hardware.</p>
<h2>The API</h2>
<ul>
<li><a href="/docs">/docs</a> every operation, for people
<li><a href="/v2/openapi.json">/v2/openapi.json</a> the same, for programs: what an account has
<li><a href="/graphql">/graphql</a> queries, to try
<li><a href="/v2/openapi-invoke.json">/v2/openapi-invoke.json</a> and the calls of its endpoints
</ul>
<h2>The first minute</h2>
<pre>api=${escaped(base)}/v2
auth="Authorization: Bearer $(cat ~/.millrace/api-key)"
json="Content-Type: application/json"

curl "$api/account/secrets" -H "$auth" -H "$json" \\
  -d '{"name": "db_password", "value": "correct horse"}'

curl "$api/account/secrets" -H "$auth"</pre>
</main>
</html>
`;
}

const shown = (path: string) => escaped(path.length > SHOWN_PATH ? `${path.slice(0, SHOWN_PATH)}…` : path);

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => entities[sign]!);
