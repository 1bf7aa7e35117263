/** Tells whether a request with cookies comes from a page of the same origin or from the user. */
import type { Request } from "../http/reply.ts";

const SAFE = ["GET", "HEAD"];

/**
 * To a browser, hosts below one domain are one site, and it sends cookies with requests from pages of any of them. So a page of one Pod
 * must not use another Pod's cookie. WebSockets, forms and scripts send their origin. For other requests, browsers send their purpose. A
 * user who follows a link may come from anywhere. A client that sends neither is no browser, and got the cookie from its owner.
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
