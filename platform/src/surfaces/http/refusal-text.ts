/** Writes a refusal as bytes, for callers that have only a socket and no response. */
import type { Problem } from "../../kernel/problem.ts";
import { problemJson } from "./problem-json.ts";
import { REASON_HEADER } from "./refusal.ts";

export function refusalText(refusal: Problem): string {
  const { status, title, contentType, body } = problemJson(refusal);
  return (
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: ${contentType}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${REASON_HEADER}: ${refusal.reason}\r\nConnection: close\r\n\r\n${body}`
  );
}
