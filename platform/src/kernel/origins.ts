/** The origins whose pages may call endpoints, as a setting names them. */

export type Origins = ReadonlySet<string> | "*";

const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/;

/** A comma separated list of origins, or `*`. */
export function parseOrigins(text: string): Origins {
  if (text.trim() === "*") return "*";
  return new Set(text.split(",").map((part) => originIn(part)));
}

/** As browsers send it: in small letters, and without the port that its scheme implies. */
function originIn(part: string): string {
  const text = part.trim().toLowerCase().replace(/\/$/, "");
  const url = URL.parse(text);
  if (!url || !ORIGIN.test(text))
    throw new Error("must be '*' or a comma separated list of origins such as https://app.example.com");
  return url.origin === "null" ? text : url.origin;
}
