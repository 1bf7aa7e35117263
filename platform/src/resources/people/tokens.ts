/** Tokens of sessions, links and invitations: random texts of which the store keeps digests. */
import { keyDigest } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";

const BYTES = 32;
const SHAPE = /^[\w-]{43}$/;

export const newToken = (random: Random): string => Buffer.from(random.bytes(BYTES)).toString("base64url");

/** What `millrace login` keeps. Its prefix tells it from the secret in a browser's cookie, so that neither is good in the other's place. */
const BEARER = "mls_";
export const newBearer = (random: Random): string => `${BEARER}${newToken(random)}`;
export const isBearer = (text: string): boolean => text.startsWith(BEARER) && SHAPE.test(text.slice(BEARER.length));

/** Returns undefined for a text that cannot be a token, which saves a look into the store. */
export const digestOf = (token: string): string | undefined => (SHAPE.test(token) ? keyDigest(token) : undefined);
