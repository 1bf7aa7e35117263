/** The page for trying queries. It loads nothing, does not store the key, and sends it as a header. */
import { hash } from "node:crypto";
import { icon, style as shared } from "../http/page.ts";

const style = `${shared}
main { max-width: 72rem; padding-top: 4vh }
label { display: block; margin: 1rem 0 .3rem; color: var(--soft); font-size: .9rem }
input, select, textarea, button { box-sizing: border-box; font: .86em/1.5 ui-monospace, monospace; color: var(--ink); background: var(--sunk); border: 1px solid var(--line); border-radius: 8px; padding: .6rem .8rem }
input, select, textarea { width: 100% }
textarea { resize: vertical }
button { margin-top: 1rem; background: var(--water); color: #fff; border: 0; cursor: pointer; font-family: inherit }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem }
@media (max-width: 60rem) { .two { grid-template-columns: 1fr } }
pre { min-height: 20rem; max-height: 75vh; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere }
`;

export const examples = {
  "GPU types and prices": `{
  gpuTypes {
    id
    displayName
    memoryInGb
    lowestPrice(input: { gpuCount: 1 }) { uninterruptablePrice stockStatus }
  }
}`,
  "What is free where":
    "{\n  dataCenters {\n    id\n    location\n    gpuAvailability { displayName stockStatus }\n  }\n}",
  "My account": "{\n  myself {\n    id\n    email\n    clientBalance\n    currentSpendPerHr\n  }\n}",
  "My Pods":
    "{\n  myself {\n    pods {\n      id\n      name\n      desiredStatus\n      costPerHr\n      runtime { uptimeInSeconds ports { ip privatePort publicPort type } }\n    }\n  }\n}",
  "Make a secret":
    'mutation {\n  secretCreate(input: { name: "db_password", value: "correct horse" }) { id name createdAt }\n}',
};

const script = `
const examples = ${JSON.stringify(examples)};
const at = (id) => document.getElementById(id);
const show = (name) => { at("query").value = examples[name]; };
for (const name of Object.keys(examples)) at("example").add(new Option(name, name));
at("example").addEventListener("change", (event) => show(event.target.value));
show(Object.keys(examples)[0]);
async function run() {
  const key = at("key").value.trim();
  const headers = { "content-type": "application/json", accept: "application/json" };
  if (key) headers.authorization = "Bearer " + key;
  at("answer").textContent = "…";
  try {
    const said = at("variables").value.trim();
    const body = JSON.stringify({ query: at("query").value, variables: said ? JSON.parse(said) : null });
    const answer = await fetch(location.pathname, { method: "POST", headers, body, credentials: "omit" });
    const text = await answer.text();
    at("status").textContent = answer.status + " " + answer.statusText;
    try { at("answer").textContent = JSON.stringify(JSON.parse(text), null, 2); } catch { at("answer").textContent = text; }
  } catch (error) {
    at("status").textContent = "";
    at("answer").textContent = String(error);
  }
}
at("run").addEventListener("click", run);
document.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(); });
`;

const sha = (text: string) => `'sha256-${hash("sha256", text, "base64")}'`;

export const pageHeaders = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src ${sha(style)}; script-src ${sha(script)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
  Vary: "Accept",
};

export const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace GraphQL</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
<main>
<h1>GraphQL <small><a href="/">Millrace</a></small></h1>
<div class="two">
<section>
<label for="key">API key, which this page sends as a header and keeps nowhere; the catalog is read without one</label>
<input id="key" type="password" autocomplete="off" spellcheck="false">
<label for="example">Examples</label>
<select id="example"></select>
<label for="query">Query</label>
<textarea id="query" rows="16" spellcheck="false"></textarea>
<label for="variables">Variables, as JSON</label>
<textarea id="variables" rows="4" spellcheck="false"></textarea>
<button id="run" type="button">Run (Ctrl+Enter)</button>
</section>
<section>
<label>Answer <span id="status"></span></label>
<pre id="answer"></pre>
</section>
</div>
</main>
<script>${script}</script>
</html>
`;
