/** Refuses requests that two programs could understand differently, before any surface reads them or the proxy passes them on. */
import type { IncomingMessage } from "node:http";
import { type Problem, problem } from "../../kernel/problem.ts";

export function ambiguityOf({ rawHeaders, headers, httpVersion }: IncomingMessage): Problem | undefined {
  if (hasTwoHosts(rawHeaders)) return problem("unreadable", "The request has more than one Host header.");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && !/^chunked$/i.test(coding))
    return problem("unreadable", "A body may be sent in chunks, and in no other transfer encoding.");
  // A proxy that speaks HTTP/1.0 does not know chunks, and would read the body as the next request (RFC 9112, 6.1).
  if (coding !== undefined && httpVersion !== "1.1")
    return problem("unreadable", "A body may be sent in chunks with HTTP/1.1 only.");
  return undefined;
}

/** Node keeps the first Host header and drops the others silently. Comparing lengths first rules out most other names. */
function hasTwoHosts(raw: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.length === 4 && raw[i]!.toLowerCase() === "host") hosts++;
  return hosts > 1;
}
