/** The addresses of a Pod's HTTP port, and the path that its program gets for each. */
import { LOCAL_DOMAIN } from "../../resources/pods/addresses.ts";
import { LINK_PATH } from "../../resources/pods/links.ts";
import type { Form } from "./address.ts";

export interface PodAddress {
  pod: string;
  port: number;
  form: Form;
  /** Path and query for the program, unchanged. */
  target: string;
  /** The part of the path before the target. */
  prefix: string;
  /** The host is a name below `localhost`, which browsers do not reach over TLS. */
  isLocal: boolean;
  /** The token of a link that is being opened. */
  link?: string | undefined;
}

const ID_LENGTH = 14;
const PORT = "[1-9]\\d{0,4}";
const LABEL = new RegExp(`^([a-z0-9]{${ID_LENGTH}})-(${PORT})$`);
const PATH_FORM = new RegExp(`^(/pods/([a-z0-9]{${ID_LENGTH}})/ports/(${PORT}))(?=[/?]|$)(.*)$`, "s");

/** Finds the Pod and port that a URL and host address. The host decides first: a Pod's own host serves nothing of the API. */
export function podAddressOf(
  url: string,
  host: string | undefined,
  domain: string | undefined,
): PodAddress | undefined {
  // Most other hosts end here without a closer look.
  const named = host?.[ID_LENGTH] === "-" ? hostForm(url, host, domain) : undefined;
  if (named) return named;
  if (!url.startsWith("/pods/")) return undefined;
  const [, prefix = "", pod, port, rest = ""] = PATH_FORM.exec(url) ?? [];
  if (pod === undefined) return undefined;
  return { pod, port: Number(port), form: "path", target: rooted(rest), prefix, isLocal: false };
}

function hostForm(url: string, host: string, domain: string | undefined): PodAddress | undefined {
  for (const one of [domain, LOCAL_DOMAIN]) {
    const named = one !== undefined && LABEL.exec(labelOf(host, one));
    if (!named) continue;
    const isLocal = one === LOCAL_DOMAIN;
    const link = url.startsWith(`/${LINK_PATH}`) ? url.slice(LINK_PATH.length + 1) : undefined;
    return { pod: named[1]!, port: Number(named[2]), form: "host", target: rooted(url), prefix: "", isLocal, link };
  }
  return undefined;
}

function labelOf(host: string, domain: string): string {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return name.endsWith(`.${domain}`) ? name.slice(0, -domain.length - 1) : "";
}

const rooted = (target: string) => (target.startsWith("/") ? target : `/${target}`);
