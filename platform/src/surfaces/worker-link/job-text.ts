/** A job as its worker gets it: the caller's body with our keys at the end, since the last of two equal keys counts. */
import { type FindCredentials, openCredential } from "../../jobs/credential.ts";
import { spliced, spliceText } from "../../jobs/record.ts";
import { handedTraceparent } from "../../kernel/traceparent.ts";
import type { Payload } from "../../ports/queue/job.ts";
import type { Claimed } from "../../ports/queue/queue.ts";
import type { Vault } from "../../ports/vault/vault.ts";
import type { LargeJson } from "../invoke/large-json.ts";

/** A long text stays in pieces, so that it is never in memory twice. */
export type JobText = string | Uint8Array[];

/** A job with its body. */
export interface Loaded extends Claimed {
  body: Payload;
}

/** The text of a job whose body needs no decryption. */
export function jobText({ job, body }: Loaded, withAttempt = false): JobText {
  const ids = withAttempt ? `"id":"${job.id}","attempt":${job.attempt}` : `"id":"${job.id}"`;
  const own =
    job.trace === undefined
      ? `${ids}}`
      : `${ids},"traceparent":"${handedTraceparent(job.trace, job.id, job.attempt)}"}`;
  return typeof body === "string" ? spliceText(body, own) : spliced(body, own);
}

/** The text of a job whose body contains a sealed credential. */
export async function openedText(
  { job, body }: Loaded,
  { vault, large }: { vault: Vault; large: LargeJson },
  withAttempt = false,
): Promise<JobText> {
  const find: FindCredentials = (bytes, opening) => large.credentials(bytes, opening, job.endpoint);
  return jobText({ job, body: await openCredential(vault, body, find) }, withAttempt);
}

/** Joins several texts between `open` and `close`: into one text, or into pieces if one of them is in pieces. */
export function joined(texts: JobText[], [open, between, close]: [string, string, string]): JobText {
  if (texts.every((text) => typeof text === "string")) return `${open}${texts.join(between)}${close}`;
  const piecesOf = (text: JobText) => (typeof text === "string" ? [Buffer.from(text)] : text);
  const parts = texts.flatMap((text, i) => [Buffer.from(i === 0 ? open : between), ...piecesOf(text)]);
  return [...parts, Buffer.from(close)];
}
