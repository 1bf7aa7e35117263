/** The origins whose pages may call endpoints, as a setting names them. */

export type Origins = ReadonlySet<string> | "*";

const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/;

/** A comma separated list of origins, or `*`. */
export function parseOrigins(text: string): Origins {
  if (text.trim() === "*") return "*";
  return new Set(text.split(",").map((part) => originIn(part)));
}

/** Returns an origin as browsers send it: in lower case, and without the default port of its scheme. */
function originIn(part: string): string {
  const text = part.trim().toLowerCase().replace(/\/$/, "");
  const url = URL.parse(text);
  if (!url || !ORIGIN.test(text))
    throw new Error("must be '*' or a comma separated list of origins such as https://app.example.com");
  return url.origin === "null" ? text : url.origin;
}
