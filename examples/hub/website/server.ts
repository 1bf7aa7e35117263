/** Serves one page that its variables describe. */
import { createServer } from "node:http";

const PORT = 8080;
const escaped = (text: string) => text.replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const title = escaped(process.env.TITLE || "It works");
const text = escaped(process.env.TEXT || "This page comes from a Pod.");

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1.1rem/1.6 system-ui;max-width:40rem;margin:4rem auto;padding:0 1rem}</style>
<h1>${title}</h1><p>${text}</p></html>`;

createServer((request, response) => {
  const isHere = request.url === "/";
  response.writeHead(isHere ? 200 : 404, { "content-type": "text/html; charset=utf-8" });
  response.end(isHere ? PAGE : "<!doctype html><p>There is nothing here.");
}).listen(PORT, "0.0.0.0", () => process.stdout.write(`serving "${title}" on port ${PORT}\n`));
