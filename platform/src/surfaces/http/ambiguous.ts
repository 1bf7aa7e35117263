/** Requests that two programs could understand differently: they are nobody's to pass on, and are refused before anybody looks at them. */
import type { IncomingMessage } from "node:http";
import { type Problem, problem } from "../../kernel/problem.ts";

export function ambiguityOf({ rawHeaders, headers }: IncomingMessage): Problem | undefined {
  if (hasTwoHosts(rawHeaders)) return problem("unreadable", "The request has more than one Host header.");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && !/^chunked$/i.test(coding))
    return problem("unreadable", "A body may be sent in chunks, and in no other transfer encoding.");
  return undefined;
}

/** Node keeps the first and says nothing of the others. By far most names are told apart by their length. */
function hasTwoHosts(raw: readonly string[]): boolean {
  let hosts = 0;
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.length === 4 && raw[i]!.toLowerCase() === "host") hosts++;
  return hosts > 1;
}
