/** Which form of `/stream` a caller reads: the specification's array, the object that public clients know, or events. */
import type { IncomingHttpHeaders } from "node:http";
import { problem } from "../../kernel/problem.ts";

export type StreamForm = "array" | "object" | "events";

/** Clients that read `{status, stream}` and say who they are. */
const OBJECT_READERS = [/^RunPod-JS-SDK\//i, /^RunPod-Python-SDK\//i, /^runpod-/i];

/** The first of these that says something decides: format, POST, wait, Accept, User-Agent, the operator's setting. */
export function streamForm(
  method: string,
  search: URLSearchParams,
  headers: IncomingHttpHeaders,
  standard: "array" | "object",
): StreamForm {
  const format = search.get("format");
  if (format !== null) return namedForm(format);
  if (method === "POST" || search.has("wait")) return "object";
  if (headers.accept?.includes("text/event-stream")) return "events";
  const agent = headers["user-agent"] ?? "";
  return OBJECT_READERS.some((reader) => reader.test(agent)) ? "object" : standard;
}

function namedForm(format: string): StreamForm {
  if (format === "array" || format === "object" || format === "events") return format;
  throw problem("malformed", "'format' must be array, object or events");
}
