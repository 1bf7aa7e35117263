/** Reads a person out of the claims of a provider, within bounds. */
import { isStorable } from "../../kernel/storable.ts";
import type { Identity } from "../../ports/identity/identity-provider.ts";

export interface KnownClaims {
  issuer: string;
  /** The claim that lists groups. */
  groupsClaim: string;
  /** Whether every email address counts as verified. */
  trustEmail: boolean;
}

type Claims = Record<string, unknown> & { sub: string };

const MOST_GROUPS = 10_000;
const LONGEST_GROUP = 256;
const LONGEST_EMAIL = 254;
const LONGEST_NAME = 191;

export function identityOf({ issuer, groupsClaim, trustEmail }: KnownClaims, claims: Claims): Identity {
  const { sub: subject, email, email_verified: verified, name } = claims;
  const isEmail = isText(email) && email.length <= LONGEST_EMAIL && /^[^\s@]+@[^\s@]+$/.test(email);
  return {
    issuer,
    subject,
    email: isEmail ? email : undefined,
    // Some providers send it as text.
    emailVerified: isEmail && (trustEmail || verified === true || verified === "true"),
    name: isText(name) && name.trim() !== "" ? name.trim().slice(0, LONGEST_NAME) : undefined,
    groups: groupsIn(found(claims, groupsClaim)),
  };
}

/** An ID token's word counts first. That an email address is verified is taken only from where the address itself stands. */
export function joined<T extends Record<string, unknown>>(claims: T, more: Record<string, unknown>): T {
  const { email_verified: ofMore, ...others } = more;
  const { email_verified: ofClaims, ...own } = claims;
  const email = own.email ?? others.email;
  const verified =
    own.email === email && ofClaims !== undefined ? ofClaims : others.email === email ? ofMore : undefined;
  return { ...others, ...own, email_verified: verified } as unknown as T;
}

const isText = (value: unknown): value is string => typeof value === "string" && isStorable(value);

/** A claim may have a dot in its name, as one that is a URL does. Otherwise dots lead into objects. */
function found(claims: Record<string, unknown>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const step of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function groupsIn(value: unknown): string[] | undefined {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  const texts = value.slice(0, MOST_GROUPS).filter((one): one is string => typeof one === "string");
  return texts.filter((one) => one.length <= LONGEST_GROUP);
}
