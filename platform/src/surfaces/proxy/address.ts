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

const ID = "[a-z0-9]{14}";
const PATH_FORM = new RegExp(`^(/+v2/+(${ID}))(?=[/?]|$)(.*)$`, "s");
const LABEL = new RegExp(`^${ID}$`);

/** Whose address this is, as far as its form tells. The host decides first: nothing of the API is served on an endpoint's own host. */
export function addressOf(url: string, host: string | undefined, domain: string | undefined): Address | undefined {
  const label = domain && host ? labelOf(host, domain) : undefined;
  if (label) return { endpoint: label, form: "host", target: rooted(url), prefix: "" };
  // By far most other paths end here, without a look at the rest of them.
  if (!url.startsWith("/v2/") && !url.startsWith("//") && !url.startsWith("/v2//")) return undefined;
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
