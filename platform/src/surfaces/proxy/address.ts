/** The two addresses of a load-balancing endpoint, and the path that its worker gets for each. */

import { resourceWords } from "../../kernel/resource-words.ts";

/** In the path form, an endpoint shares its origin with the API and the console. In the host form, it has its own. */
export type Form = "path" | "host";

export interface Address {
  /** Its id, or the name under which it is shared. */
  endpoint: string;
  isName?: true;
  form: Form;
  /** Path and query for the worker, unchanged. */
  target: string;
  /** The part of the path before the target. */
  prefix: string;
}

const ID_LENGTH = 14;
const BEFORE_ID = "/v2/".length;
const AFTER_ID = BEFORE_ID + ID_LENGTH;
const ID = `[a-z0-9]{${ID_LENGTH}}`;
const PATH_FORM = new RegExp(`^(/+v2/+(${ID}))(?=[/?]|$)(.*)$`, "s");
const LABEL = new RegExp(`^${ID}$`);

/** Finds the endpoint that a URL and host address. The host decides first: an endpoint's own host serves nothing of the API. */
export function addressOf(url: string, host: string | undefined, domain: string | undefined): Address | undefined {
  const label = domain && host?.[ID_LENGTH] === "." ? labelOf(host, domain) : undefined;
  if (label) return { endpoint: label, form: "host", target: rooted(url), prefix: "" };
  // Most other paths end here without a closer look.
  if (!url.startsWith("/v2/") && !url.startsWith("//") && !url.startsWith("/v2//")) return undefined;
  return plainForm(url) ?? oddForm(url);
}

/** The form with single slashes, which most clients use. */
function plainForm(url: string): Address | undefined {
  const endpoint = url.slice(BEFORE_ID, AFTER_ID);
  const next = url[AFTER_ID];
  if ((next !== "/" && next !== "?" && next !== undefined) || !LABEL.test(endpoint) || url[1] === "/") return undefined;
  return { endpoint, form: "path", target: rooted(url.slice(AFTER_ID)), prefix: url.slice(0, AFTER_ID) };
}

const NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;
const words: ReadonlySet<string> = new Set(resourceWords);

/** Finds the name under which a public endpoint may be called, in the path form. Resources of the API have names of their own. */
export function namedAddressOf(url: string): Address | undefined {
  if (!url.startsWith("/v2/")) return undefined;
  let end = BEFORE_ID;
  while (end < url.length && url[end] !== "/" && url[end] !== "?") end++;
  const endpoint = url.slice(BEFORE_ID, end);
  if (words.has(endpoint) || !NAME.test(endpoint)) return undefined;
  return { endpoint, isName: true, form: "path", target: rooted(url.slice(end)), prefix: url.slice(0, end) };
}

function oddForm(url: string): Address | undefined {
  const [, prefix = "", endpoint, rest = ""] = PATH_FORM.exec(url) ?? [];
  return endpoint === undefined ? undefined : { endpoint, form: "path", target: rooted(rest), prefix };
}

function labelOf(host: string, domain: string): string | undefined {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  if (!name.endsWith(`.${domain}`)) return undefined;
  const label = name.slice(0, -domain.length - 1);
  return LABEL.test(label) ? label : undefined;
}

const rooted = (target: string) => (target.startsWith("/") ? target : `/${target}`);
