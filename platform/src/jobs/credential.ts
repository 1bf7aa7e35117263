/** The credential in a job's body, `s3Config.accessSecret`: sealed where the body is stored, readable where a worker gets it. */
import { byteSpans, replaceSpans, type Span, valueSpans } from "../kernel/json-spans.ts";
import { problem } from "../kernel/problem.ts";
import type { Payload } from "../ports/queue/job.ts";
import type { Sealed, Vault } from "../ports/vault/vault.ts";

/** A credential in a body is sealed under this context, and never stored in clear. */
const CREDENTIAL = "s3Config.accessSecret";

/** More often than that it is no mistake. */
const MOST_CREDENTIALS = 16;
/** No key of any storage is nearly as long, and to seal 10 MB would hold everybody up. */
const LONGEST_CREDENTIAL = 64 * 1024;

export type Opening = '"' | "{";

/** Finds credentials in a long body, wherever that holds nobody up. */
export type FindCredentials = (body: Uint8Array, opening: Opening) => Promise<Span[]>;

const findHere: FindCredentials = async (body, opening) => credentialBytes(body, opening);

/**
 * Undefined when there is none. Only the credential changes: everything else reaches the worker as it came, numbers too long for us
 * included.
 */
export async function sealCredential(vault: Vault, body: Payload, find = findHere): Promise<Payload | undefined> {
  return sealFound(vault, body, typeof body === "string" ? credentialsToSeal(body) : await find(body, '"'));
}

/** The same where somebody has found the credentials already. */
export async function sealFound<Body extends Payload>(
  vault: Vault,
  body: Body,
  spans: readonly Span[],
): Promise<Body | undefined> {
  if (spans.length === 0) return undefined;
  if (spans.length > MOST_CREDENTIALS)
    throw problem("invalid", `'s3Config.accessSecret' is given ${spans.length} times; give it once`);
  const [start, end] = spans.at(-1)!;
  if (end - start > LONGEST_CREDENTIAL)
    throw problem("invalid", `'s3Config.accessSecret' is longer than ${LONGEST_CREDENTIAL} characters`);
  return replaced(body, spans, await vault.seal(valueAt(body, [start, end]) as string, CREDENTIAL)) as Body;
}

export const credentialsToSeal = (body: string) => credentialsIn(body, '"');

/** The body as the worker gets it, its credential readable again. */
export async function openCredential(vault: Vault, body: Payload, find = findHere): Promise<Payload> {
  const spans = typeof body === "string" ? credentialsIn(body, "{") : await find(body, "{");
  return replaced(body, spans, await vault.open(valueAt(body, spans.at(-1)!) as Sealed, CREDENTIAL));
}

/** Where credentials stand in a body of bytes, counted in bytes. */
export function credentialBytes(body: Uint8Array, opening: Opening): Span[] {
  const text = asText(body);
  return byteSpans(text, credentialsIn(text, opening));
}

function valueAt(body: Payload, [start, end]: Span): unknown {
  return JSON.parse(typeof body === "string" ? body.slice(start, end) : asText(body.subarray(start, end)));
}

/** Of a key that is given twice parsers take the last: only that one has the value, since with each that had it the body would grow. */
function replaced(body: Payload, spans: readonly Span[], value: string | Sealed): Payload {
  const replacements = [...Array.from({ length: spans.length - 1 }, () => '""'), JSON.stringify(value)];
  if (typeof body === "string") return replaceSpans(body, spans, replacements);
  const starts = [0, ...spans.map(([, end]) => end)];
  const ends = [...spans.map(([start]) => start), body.length];
  const pieces = starts.map((start, i) => body.subarray(start, ends[i]));
  return Buffer.concat(pieces.flatMap((piece, i) => (i === 0 ? [piece] : [Buffer.from(replacements[i - 1]!), piece])));
}

/** The body with its credential under the newest master key, or undefined when it already is. */
export function rewrapCredential(vault: Vault, body: Payload): string | undefined {
  const text = asText(body);
  const spans = credentialsIn(text, "{");
  const sealed = vault.rewrap(valueAt(text, spans.at(-1)!) as Sealed);
  return sealed && (replaced(text, spans, sealed) as string);
}

/** Where credentials stand, all of them: a key that is given twice hides the first from parsers, but not from the disk. */
function credentialsIn(text: string, opening: Opening): Span[] {
  return valueSpans(text, ["s3Config", "accessSecret"]).filter(([start]) => text[start] === opening);
}

function asText(body: Payload): string {
  return typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}
