/** Decides which pages may open a terminal: those of this server, and those that the operator named. */
import type { Origins } from "../../kernel/origins.ts";
import type { Request } from "../http/reply.ts";

export interface PageOrigins {
  publicUrl: () => string;
  /** Whose pages may call endpoints may also open terminals, if they were given a ticket. */
  origins?: Origins | undefined;
}

/**
 * Browsers send the origin of the page with every WebSocket, and no page can change it. A program sends none. The ticket alone lets a
 * client in; this keeps a ticket that leaked, such as from a page's memory, from being used by a page of a Pod or of anybody else.
 */
export function mayConnect({ headers: { origin, host } }: Request, { publicUrl, origins }: PageOrigins): boolean {
  if (origin === undefined || origins === "*" || origins?.has(origin)) return true;
  // A sandboxed page says `null`, which is no address.
  const page = URL.parse(origin);
  return page !== null && (page.host === host?.toLowerCase() || page.origin === URL.parse(publicUrl())?.origin);
}
