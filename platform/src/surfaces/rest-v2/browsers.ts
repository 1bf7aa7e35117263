/** Tells handlers about the browser behind a request, and sets its session cookie. */
import {
  hindranceOf,
  pendingCookie,
  pendingIn,
  requireOwnPage,
  sessionCookie,
  sessionIn,
} from "../../guards/own-page.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Browser } from "../../kernel/operation.ts";
import { partyOf } from "../../kernel/party.ts";
import { clientAddress, isSecure } from "../http/client-address.ts";
import type { Reply, Request } from "../http/reply.ts";
import type { Surface } from "../http/surface.ts";

export function browserOf(request: Request, reply: Reply, publicUrl: string | undefined): Browser {
  const { headers } = request;
  return {
    address: clientAddress(request),
    userAgent: headers["user-agent"],
    session: sessionIn(headers)?.secret,
    hindrance: hindranceOf(request, isSecure(request), publicUrl),
    origin: headers.origin,
    pending: pendingIn(headers),
    await(pending) {
      reply.header("Set-Cookie", pendingCookie(pending));
    },
    keep(session) {
      reply.header("Set-Cookie", sessionCookie(session));
    },
  };
}

/** The surface for operations that need no key. Requests count per address. A page of another origin must not sign its visitors in or out. */
export const openSurface = (surface: Surface, publicUrl: string | undefined): Surface => ({
  ...surface,
  name: "sign-in",
  authenticate: (request) => strangerAt(clientAddress(request)),
  browser(request, reply) {
    requireOwnPage(request, publicUrl);
    return browserOf(request, reply, publicUrl);
  },
  headers: () => ({ "Cache-Control": "no-store" }),
});

const strangerAt = (address = ""): Caller => ({
  ...{ anonymous: true, account: "", user: `address ${partyOf(address)}`, key: "", grants: [], exempt: false },
});
