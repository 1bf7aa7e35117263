/** Whether a request that a browser sends with its cookies comes from a page of the same origin, or from its user. */
import type { Request } from "../http/reply.ts";

const SAFE = ["GET", "HEAD"];

/**
 * Hosts below one domain are one site to a browser, which sends cookies along with what pages of any of them ask for: a page of one Pod must not use
 * another's so. WebSockets, forms and scripts say their origin; of everything else browsers say what it is for. A user who follows a link may come
 * from anywhere. What says neither is no browser, and has the cookie from its owner.
 */
export function isOwnPage({ headers, method }: Request): boolean {
  const { origin, host } = headers;
  if (origin !== undefined) return hostOf(origin) === host?.toLowerCase();
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  return SAFE.includes(method) && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
