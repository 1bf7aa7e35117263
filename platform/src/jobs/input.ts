/** Finds the input in a job's body without parsing it, because parsing would change very long numbers. Runs in any thread. */
import { byteSpans, type Span, valueSpans } from "../kernel/json-spans.ts";

/** Finds the input in a body, in a thread where that would block other requests. */
export type FindInput = (body: Uint8Array, endpoint: string) => Promise<Span>;

/** Parsers use the last value of a repeated key. */
export function inputBytes(body: Uint8Array): Span {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return byteSpans(text, valueSpans(text, ["input"]).slice(-1))[0]!;
}
