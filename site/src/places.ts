/** Where each document of the repository stands in the site, and where its links lead. */
import { dirname, extname, join, normalize } from "node:path/posix";

/** Documents outside of `docs/` that are pages too, by the name of the page. */
export const GUESTS: Record<string, string> = {
  start: "README.md",
  worker: "worker/README.md",
  changelog: "CHANGELOG.md",
  contributing: "CONTRIBUTING.md",
};

/** Files that the server itself hands out. */
const SERVED: Record<string, string> = {
  "openapi.json": "/v2/openapi.json",
  "openapi-invoke.json": "/v2/openapi-invoke.json",
  "openapi-v1.json": "/v1/openapi.json",
};

export const BASE = "/docs/";

/** The address of a document's page: `docs/jobs.md` is at `/docs/jobs`. */
export function addressOf(path: string): string | undefined {
  const guest = Object.keys(GUESTS).find((name) => GUESTS[name] === path);
  if (guest) return BASE + guest;
  if (!path.startsWith("docs/")) return SERVED[path];
  const inside = path.slice("docs/".length);
  if (extname(inside) === "") return `${BASE}${inside.replace(/\/$/, "")}/`;
  if (extname(inside) !== ".md") return BASE + inside;
  return BASE + inside.slice(0, -".md".length).replace(/(^|\/)README$/, "$1");
}

/** The document that a page was made from, as a path of the repository. */
export function documentOf(inputPath: string): string {
  const path = normalize(inputPath).replace(/^(\.\.\/)+/, "");
  const name = /^docs\/(\w+)\.md$/.exec(path)?.[1];
  return (name && GUESTS[name]) || path;
}

/** Where a link of a document leads in the site. Undefined if the site has nothing there, such as for a source file. */
export function linkFrom(document: string, href: string): string | undefined {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const address = addressOf(normalize(join(dirname(document), path)));
  return address && (anchor === undefined ? address : `${address}#${anchor}`);
}
