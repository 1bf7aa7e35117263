/** The invocation surface: raw keys or bearer tokens, flat errors, and no rate limits. */
import type { Authenticator } from "../../guards/authenticate.ts";
import type { Problem } from "../../kernel/problem.ts";
import { problem } from "../../kernel/problem.ts";
import type { Surface } from "../http/surface.ts";

/** Public clients parse `error`; some of them read `message` first. */
export function flatError({ word, detail }: Problem): { contentType: string; body: string } {
  return { contentType: "application/json", body: JSON.stringify({ error: word ?? detail, message: detail }) };
}

const SCHEME = /^Bearer +/i;

export const hasScheme = (header: string | undefined) => SCHEME.test(header ?? "");

/** The key of an `Authorization` header that may or may not name a scheme. */
export function keyOf(header: string | undefined): string {
  if (header === undefined) throw problem("unauthenticated", "unauthorized: the authorization header is missing");
  return header.replace(SCHEME, "").trim();
}

export function invokeSurface(authenticator: Authenticator, crossOrigin?: Surface["crossOrigin"]): Surface {
  return {
    name: "invoke",
    authenticate: async ({ authorization }) => authenticator.key(keyOf(authorization)),
    limited: false,
    strictMediaType: false,
    refusal: flatError,
    logged: false,
    crossOrigin,
  };
}
