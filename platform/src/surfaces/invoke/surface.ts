/** The invocation surface: raw keys or bearer tokens, flat errors, and no per-user rate limits. */
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Problem } from "../../kernel/problem.ts";
import { problem } from "../../kernel/problem.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";
import type { Surface } from "../http/surface.ts";

/** Public clients know 400, 401, 403, 404, 413, 429 and 503. Other statuses are for cases in which they can do nothing. */
export const invokeStatuses: Statuses = {
  ...problemStatuses,
  invalid: 400,
  unstorable: 400,
  "wrong-state": 400,
};

/** Public clients parse `error`, and some read `message` first. */
export function flatError({ code, word, detail, errors = [] }: Problem, statuses: Statuses): Refused {
  // The flat form has no list of errors, so they go into the message.
  const message = code === "unstorable" ? `${detail} ${errors.join("; ")}`.trim() : detail;
  const body = JSON.stringify({ error: word ?? message, message });
  return { status: statuses[code], contentType: "application/json", body };
}

const SCHEME = /^Bearer +/i;
/** Nearly every client writes it this way, which takes no regular expression to see. */
const PLAIN_SCHEME = "Bearer ";

export const hasScheme = (header: string | undefined) => SCHEME.test(header ?? "");

/** Returns the key of an `Authorization` header, with or without a scheme. */
export function keyOf(header: string | undefined): string {
  if (header === undefined) throw problem("unauthenticated", "unauthorized: the authorization header is missing");
  return (header.startsWith(PLAIN_SCHEME) ? header.slice(PLAIN_SCHEME.length) : header.replace(SCHEME, "")).trim();
}

export function invokeSurface(authenticator: Authenticator, crossOrigin?: Surface["crossOrigin"]): Surface {
  return {
    name: "invoke",
    authenticate(request) {
      const { authorization } = request.headers;
      const session = authorization === undefined ? authenticator.session(request) : undefined;
      return session ?? authenticator.key(keyOf(authorization));
    },
    limited: false,
    strictMediaType: false,
    refusal: (refusal) => flatError(refusal, invokeStatuses),
    logged: false,
    crossOrigin,
  };
}
