/** The credential in a job's body, `s3Config.accessSecret`: sealed where the body is stored, readable where a worker gets it. */
import { replaceSpans, type Span, valueSpans } from "../kernel/json-spans.ts";
import type { Payload } from "../ports/queue/job.ts";
import type { Sealed, Vault } from "../ports/vault/vault.ts";

/** A credential in a body is sealed under this context, and never stored in clear. */
const CREDENTIAL = "s3Config.accessSecret";

/**
 * Undefined when there is none. Only the credential changes: everything else reaches the worker as it came, numbers too long for us
 * included.
 */
export async function sealCredential(vault: Vault, body: Payload): Promise<string | undefined> {
  const text = asText(body);
  const spans = credentialsIn(text, '"');
  if (spans.length === 0) return undefined;
  const secret = await vault.seal(lastIn(text, spans) as string, CREDENTIAL);
  return replaceSpans(text, spans, JSON.stringify(secret));
}

/** The body as the worker gets it, its credential readable again. */
export async function openCredential(vault: Vault, body: Payload): Promise<string> {
  const text = asText(body);
  const spans = credentialsIn(text, "{");
  const secret = await vault.open(lastIn(text, spans) as Sealed, CREDENTIAL);
  return replaceSpans(text, spans, JSON.stringify(secret));
}

/** The body with its credential under the newest master key, or undefined when it already is. */
export function rewrapCredential(vault: Vault, body: Payload): string | undefined {
  const text = asText(body);
  const spans = credentialsIn(text, "{");
  const sealed = vault.rewrap(lastIn(text, spans) as Sealed);
  return sealed && replaceSpans(text, spans, JSON.stringify(sealed));
}

/** Where credentials stand, all of them: a key that is given twice hides the first from parsers, but not from the disk. */
function credentialsIn(text: string, opening: '"' | "{"): Span[] {
  return valueSpans(text, ["s3Config", "accessSecret"]).filter(([start]) => text[start] === opening);
}

function lastIn(text: string, spans: readonly Span[]): unknown {
  return JSON.parse(text.slice(...spans.at(-1)!));
}

function asText(body: Payload): string {
  return typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}
