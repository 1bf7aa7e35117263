/** Decides which form of `/stream` a caller gets: the specification's array, the object that public clients know, or events. */
import type { IncomingHttpHeaders } from "node:http";
import { problem } from "../../kernel/problem.ts";
import { hasScheme } from "./surface.ts";

export type StreamForm = "array" | "object" | "events";

/** The operator's setting: one form for all, or the form that fits how each caller sends its key. */
export type StreamStandard = "auto" | "array" | "object";

/** The first of these that is present decides: format, POST, wait, Accept, the operator's setting, how the key was sent. */
export function streamForm(
  method: string,
  search: URLSearchParams,
  headers: IncomingHttpHeaders,
  standard: StreamStandard,
): StreamForm {
  const format = search.get("format");
  if (format !== null) return namedForm(format);
  if (method === "POST" || search.has("wait")) return "object";
  if (headers.accept?.includes("text/event-stream")) return "events";
  if (standard !== "auto") return standard;
  // The specification sends the bare key and shows an array. Every public client sends `Bearer` and reads an object.
  return hasScheme(headers.authorization) ? "object" : "array";
}

function namedForm(format: string): StreamForm {
  if (format === "array" || format === "object" || format === "events") return format;
  throw problem("invalid", "'format' must be array, object or events");
}
