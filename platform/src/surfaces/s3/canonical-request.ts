/** A request in the canonical form that Signature Version 4 signs. */
import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { uriEncoded } from "./address.ts";

export interface CanonicalParts {
  method: string;
  /** Decoded, then encoded again in the canonical way. */
  path: string;
  query: Iterable<readonly [name: string, value: string]>;
  headers: IncomingHttpHeaders;
  signedHeaders: Iterable<string>;
  /** The digest of the body, or the word in its place. */
  payload: string;
}

/** The digest of the canonical form. A signature covers nothing else of a request. */
export function canonicalDigest({ method, path, query, headers, signedHeaders, payload }: CanonicalParts): string {
  const names = [...new Set(signedHeaders)].toSorted();
  const words = [...query].map(([name, value]) => [uriEncoded(name), uriEncoded(value)] as const);
  const lines = names.map((name) => `${name}:${headerOf(headers, name) ?? ""}\n`).join("");
  return hash("sha256", [method, path, queryText(words), lines, names.join(";"), payload].join("\n"), "hex");
}

/** Sorts by names and not by pairs: `a-b=1` comes after `a=1`. */
const queryText = (words: (readonly [name: string, value: string])[]) =>
  words
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map((word) => word.join("="))
    .join("&");

/** The header as it was signed: in UTF-8, without extra spaces. Only the request's own headers count, not what every object inherits. */
function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  const text = Array.isArray(value) ? value.join(",") : value;
  return text === undefined ? undefined : Buffer.from(text, "latin1").toString().trim().replace(/\s+/g, " ");
}
