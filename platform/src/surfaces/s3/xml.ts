/** XML as S3 writes and reads it. */
import { XMLBuilder, XMLParser } from "fast-xml-parser";
import { S3Refused } from "./refusals.ts";

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";

/** What each document begins with. */
export const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: "@" });
// Some clients write quotation marks and other characters as numbers. A key may begin and end with spaces.
const parser = new XMLParser({ ignoreAttributes: true, parseTagValue: false, trimValues: false, htmlEntities: true });

export type Xml = { [name: string]: string | number | boolean | undefined | Xml | readonly Xml[] };

export function xmlOf(name: string, content: Xml): string {
  const root = { "@xmlns": NAMESPACE, ...content };
  return `${DECLARATION}${builder.build({ [name]: root })}`;
}

/** The texts repeat what was sent, so they may contain anything. */
export function errorXml(content: Record<string, string>): string {
  const shown = Object.fromEntries(Object.entries(content).map(([name, value]) => [name, shownKey(value, undefined)]));
  return `${DECLARATION}${builder.build({ Error: shown })}`;
}

/** Returns the named children of the document's root, each as a map of texts. */
export function childrenOf(text: string, root: string, child: string): Record<string, string>[] {
  // No client sends a document type, and its entities could expand to much more than was sent.
  if (/<!(DOCTYPE|ENTITY)/i.test(text) || !isSayable(text)) throw malformed();
  const found = parsed(text)[root];
  if (typeof found !== "object" || found === null) throw malformed();
  const children = [(found as Record<string, unknown>)[child] ?? []].flat();
  return children.map((one) => {
    if (typeof one !== "object" || one === null) throw malformed();
    return Object.fromEntries(Object.entries(one).filter(([, value]) => typeof value === "string"));
  });
}

/** A number that stands for no character would be dropped, and the key would become another one. */
const isSayable = (text: string) =>
  [...text.matchAll(/&#(?:x([\da-f]+)|(\d+));/gi)].every(([, hex, decimal]) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff && !String.fromCodePoint(code).match(UNSAYABLE);
  });

function parsed(text: string): Record<string, unknown> {
  try {
    return parser.parse(text, true) as Record<string, unknown>;
  } catch {
    throw malformed();
  }
}

const malformed = () => new S3Refused("MalformedXML", "The body is not the XML that this operation takes.");

/** Characters that no XML document may contain. */
const UNSAYABLE = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** A key as a listing shows it: unchanged, or URL-encoded if the client asks for that. */
export const shownKey = (key: string, encoding: string | undefined) =>
  encoding === "url" ? encodeURIComponent(key).replaceAll("%2F", "/") : key.replace(UNSAYABLE, "\u{fffd}");
