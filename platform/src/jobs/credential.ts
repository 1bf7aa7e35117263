/** The credential in a job's body, `s3Config.accessSecret`, is sealed in storage and readable when a worker gets it. */
import { byteSpans, replaceSpans, type Span, valueSpans } from "../kernel/json-spans.ts";
import { problem } from "../kernel/problem.ts";
import type { Payload } from "../ports/queue/job.ts";
import type { Sealed, Vault } from "../ports/vault/vault.ts";

/** The vault seals a credential under this context. It is never stored in clear text. */
const CREDENTIAL = "s3Config.accessSecret";

/** A body that repeats the key more often than this is not a mistake, so it is refused. */
const MOST_CREDENTIALS = 16;
/** No storage key is nearly this long, and sealing 10 MB would block all other requests. */
const LONGEST_CREDENTIAL = 64 * 1024;

export type Opening = '"' | "{";

/** Finds credentials in a long body, in a thread where that would block other requests. */
export type FindCredentials = (body: Uint8Array, opening: Opening) => Promise<Span[]>;

const findHere: FindCredentials = async (body, opening) => credentialBytes(body, opening);

/**
 * Returns undefined if the body has no credential. Only the credential changes. Everything else reaches the worker byte for byte, also
 * numbers that JavaScript cannot represent.
 */
export async function sealCredential(vault: Vault, body: Payload, find = findHere): Promise<Payload | undefined> {
  return sealFound(vault, body, typeof body === "string" ? credentialsToSeal(body) : await find(body, '"'));
}

/** Does the same as `sealCredential` when the caller has already found the credentials. */
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

/** Returns the body as the worker gets it, with a readable credential. */
export async function openCredential(vault: Vault, body: Payload, find = findHere): Promise<Payload> {
  const spans = typeof body === "string" ? credentialsIn(body, "{") : await find(body, "{");
  return replaced(body, spans, await vault.open(valueAt(body, spans.at(-1)!) as Sealed, CREDENTIAL));
}

/** Returns where the credentials are in a body, as byte offsets. */
export function credentialBytes(body: Uint8Array, opening: Opening): Span[] {
  const text = asText(body);
  return byteSpans(text, credentialsIn(text, opening));
}

function valueAt(body: Payload, [start, end]: Span): unknown {
  return JSON.parse(typeof body === "string" ? body.slice(start, end) : asText(body.subarray(start, end)));
}

/**
 * Parsers use the last value of a repeated key, so only the last one keeps the value. Repeating it in all of them would make the body grow.
 */
function replaced(body: Payload, spans: readonly Span[], value: string | Sealed): Payload {
  const replacements = [...Array.from({ length: spans.length - 1 }, () => '""'), JSON.stringify(value)];
  if (typeof body === "string") return replaceSpans(body, spans, replacements);
  const starts = [0, ...spans.map(([, end]) => end)];
  const ends = [...spans.map(([start]) => start), body.length];
  const pieces = starts.map((start, i) => body.subarray(start, ends[i]));
  return Buffer.concat(pieces.flatMap((piece, i) => (i === 0 ? [piece] : [Buffer.from(replacements[i - 1]!), piece])));
}

/** Reseals the credential under the newest master key, or returns undefined if that is the key it already has. */
export function rewrapCredential(vault: Vault, body: Payload): string | undefined {
  const text = asText(body);
  const spans = credentialsIn(text, "{");
  const sealed = vault.rewrap(valueAt(text, spans.at(-1)!) as Sealed);
  return sealed && (replaced(text, spans, sealed) as string);
}

/** Returns where all credentials are. If the key is repeated, parsers ignore the first value, but it would still reach the disk. */
function credentialsIn(text: string, opening: Opening): Span[] {
  return valueSpans(text, ["s3Config", "accessSecret"]).filter(([start]) => text[start] === opening);
}

function asText(body: Payload): string {
  return typeof body === "string" ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}
