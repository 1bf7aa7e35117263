/** The two addresses of a load-balancing endpoint, and what its worker is asked for behind each. */

/** In the path form an endpoint shares its origin with the API and the console; in the host form it has one of its own. */
export type Form = "path" | "host";

export interface Address {
  endpoint: string;
  form: Form;
  /** What the worker is asked for: path and query, as they came. */
  target: string;
  /** What stood before it in the path. */
  prefix: string;
}

const ID_LENGTH = 14;
const BEFORE_ID = "/v2/".length;
const AFTER_ID = BEFORE_ID + ID_LENGTH;
const ID = `[a-z0-9]{${ID_LENGTH}}`;
const PATH_FORM = new RegExp(`^(/+v2/+(${ID}))(?=[/?]|$)(.*)$`, "s");
const LABEL = new RegExp(`^${ID}$`);

/** Whose address this is, as far as its form tells. The host decides first: nothing of the API is served on an endpoint's own host. */
export function addressOf(url: string, host: string | undefined, domain: string | undefined): Address | undefined {
  const label = domain && host?.[ID_LENGTH] === "." ? labelOf(host, domain) : undefined;
  if (label) return { endpoint: label, form: "host", target: rooted(url), prefix: "" };
  // By far most other paths end here, without a look at the rest of them.
  if (!url.startsWith("/v2/") && !url.startsWith("//") && !url.startsWith("/v2//")) return undefined;
  return plainForm(url) ?? oddForm(url);
}

/** With each slash once, as by far most clients write it. */
function plainForm(url: string): Address | undefined {
  const endpoint = url.slice(BEFORE_ID, AFTER_ID);
  const next = url[AFTER_ID];
  if ((next !== "/" && next !== "?" && next !== undefined) || !LABEL.test(endpoint) || url[1] === "/") return undefined;
  return { endpoint, form: "path", target: rooted(url.slice(AFTER_ID)), prefix: url.slice(0, AFTER_ID) };
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
