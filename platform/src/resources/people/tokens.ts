/** Tokens of sessions, links and invitations: random texts of which the store keeps digests. */
import { keyDigest } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";

const BYTES = 32;
const SHAPE = /^[\w-]{43}$/;

export const newToken = (random: Random): string => Buffer.from(random.bytes(BYTES)).toString("base64url");

/** Returns undefined for a text that cannot be a token, which saves a look into the store. */
export const digestOf = (token: string): string | undefined => (SHAPE.test(token) ? keyDigest(token) : undefined);
