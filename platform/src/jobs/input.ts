/** The input in a job's body, as it came: found and not read, since numbers too long for us would change. Runs in any thread. */
import { byteSpans, type Span, valueSpans } from "../kernel/json-spans.ts";

/** Finds the input in a body, wherever that holds nobody up. */
export type FindInput = (body: Uint8Array, endpoint: string) => Promise<Span>;

/** Of a key that is given twice, parsers take the last. */
export function inputBytes(body: Uint8Array): Span {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return byteSpans(text, valueSpans(text, ["input"]).slice(-1))[0]!;
}
